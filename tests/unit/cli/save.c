/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts' names as names of files. */
#include "cli/remote/save.h"

#include "../../lib/tap.h"

int main(void)
{
	static const char *const hosts[] = {
		"n1",
		"root@n1:22",
		"[fe80::1%eth0]:22",
		"ssh://a@b:1",
		"..",
		".hidden",
		"-rf",
		"a/../../b",
		"a b",
		"ä",
		"%41",
		"%",
	};

	plan_none;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		char *file = save_file_name(hosts[i], ""), *back = save_host_name(file, strlen(file));

		ok(!strchr(file, '/') && *file != '.' && *file != '-' && !strchr(file, ' '),
			"'%s' is a safe name for '%s'", file, hosts[i]);
		is_str(back, hosts[i], "and reads back");
		free(file);
		free(back);
	}
	return done();
}
