// SPDX-License-Identifier: Apache-2.0
// A fleet that a C++ program owns, one in each of two threads: raii CONFIG HOST COMMAND.
#include <pssh.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

class Fleet
{
      public:
	Fleet()
	{
		struct pssh *p = nullptr;
		const int rc = pssh_new(&p);

		if (rc != 0)
			throw std::runtime_error(pssh_strerror(rc));
		fleet.reset(p);
	}

	void read_config(const char *path)
	{
		check(pssh_read_config(fleet.get(), path));
	}

	int run(const char *name, const char *command, std::string &out)
	{
		struct pssh_host *host = nullptr;
		struct pssh_task *task = nullptr;
		const struct pssh_event *ev = nullptr;
		int status = 255;

		check(pssh_host(fleet.get(), name, &host));
		check(pssh_exec(fleet.get(), command, &task));
		check(pssh_task_add(task, host));
		check(pssh_task_start(task));
		for (;;) {
			const int rc = check(pssh_wait(fleet.get(), &ev, -1));

			if (rc == 0)
				continue;
			if (ev->type == PSSH_EV_STDOUT)
				out.append(ev->data, ev->len);
			if (ev->type == PSSH_EV_ERROR)
				throw std::runtime_error(ev->text);
			if (ev->type == PSSH_EV_EXIT)
				status = ev->status;
			if (ev->type == PSSH_EV_DONE)
				return status;
		}
	}

      private:
	struct Free {
		void operator()(struct pssh *p) const
		{
			pssh_free(p);
		}
	};

	int check(int rc)
	{
		if (rc < 0)
			throw std::runtime_error(pssh_error(fleet.get()));
		return rc;
	}

	std::unique_ptr<struct pssh, Free> fleet;
};

int main(int argc, char **argv)
{
	std::string out[2];
	int status[2] = { 255, 255 };

	if (argc != 4)
		return 255;
	const auto one = [&](int i) {
		try {
			Fleet fleet;

			fleet.read_config(argv[1]);
			status[i] = fleet.run(argv[2], argv[3], out[i]);
		} catch (const std::exception &e) {
			std::fprintf(stderr, "%s\n", e.what());
		}
	};
	std::thread other(one, 1);
	one(0);
	other.join();
	std::fputs(out[0].c_str(), stdout);
	return out[0] == out[1] && status[0] == status[1] ? status[0] : 254;
}
