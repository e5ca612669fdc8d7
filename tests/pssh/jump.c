/* SPDX-License-Identifier: Apache-2.0 */
/* Jump hosts (a real sshd, with light or real targets behind it) and proxy commands. */
#include "light.h"

static struct drive d;
static struct light l;

static void fresh(void)
{
	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	pssh_add_known_hosts(d.p, l.known);
}

/* A target on the light server, reached through jumps. */
static struct pssh_host *behind(const char *jumps, unsigned net, unsigned i)
{
	struct pssh_host *h = light_host_number(&d, &l, net, i);
	char line[400] = "", *key;
	FILE *f = fopen(l.known, "r");

	/* The configuration names its own file of known hosts, so the light server's key is pinned. */
	if (f && fgets(line, sizeof line, f) && (key = strchr(line, ' '))) {
		line[strcspn(line, "\n")] = '\0';
		if (pssh_host_pin(h, key + 1) != 0)
			diag("%s", pssh_error(d.p));
	}
	if (f)
		fclose(f);
	pssh_host_set_jump(h, jumps);
	return h;
}

static void check_hops(void)
{
	struct pssh_host *h;

	fresh();
	h = behind("n1", 40, 1);
	is_str(pssh_host_jump(h), "n1", "the way is known");
	ends(once(&d, h, "hostname"), "exit 0", "one hop");
	is_str(drive_seen(&d, d.seen[0].task, h)->out, "127.40.0.2\n", "to the right host");
	is_int(d.up, 2, "two connections for it");
	ends(once(&d, behind("n1,n2", 40, 2), "hostname"), "exit 0", "two hops");
	ends(once(&d, behind("n1,n2,n3", 40, 3), "hostname"), "exit 0", "three hops");
	ends(once(&d, behind("nobody-knows.invalid", 40, 4), "true"), "PSSH_EPROXY", "a jump host that does not exist");
	h = behind("n1", 40, 5);
	pssh_host_set_port(h, 1);
	ends(once(&d, h, "true"), "PSSH_ECONNECT", "a target that the jump host cannot reach");
	has_str(d.seen[d.count - 1].text, "n1", "its sentence names the jump host");
	drive_end(&d, "hops");
}

/* "Host * ProxyJump bastion" holds for the bastion, too. */
static void check_circles(void)
{
	FILE *f = fopen("circles", "w");
	struct pssh_host *h;

	if (!f ||
		fprintf(f, "Host a\n ProxyJump b\nHost b\n ProxyJump a\n"
			   "Host c d\n ProxyJump d\nMatch all\nInclude %s\n",
			env("SSHD_CONFIG")) < 0 ||
		fclose(f) != 0)
		exit(99);
	drive_start(&d);
	pssh_read_config(d.p, "circles");
	ends(once(&d, host(&d, "d"), "true"), "PSSH_EINVAL", "a host that is its own jump host");
	has_str(d.seen[d.count - 1].text, "makes 'd' its own jump host; it needs 'ProxyJump none'", "is told so");
	ends(once(&d, host(&d, "c"), "true"), "PSSH_EINVAL", "one behind it");
	has_str(d.seen[d.count - 1].text, "'d' its own jump host", "hears the same");
	ends(once(&d, host(&d, "a"), "true"), "PSSH_EINVAL", "two that are each other's");
	has_str(d.seen[d.count - 1].text, "circle", "end, too");
	h = host(&d, "n2");
	pssh_host_set_jump(h, "n3");
	ends(once(&d, h, "true"), "exit 0", "others are reached");
	h = host(&d, "n3");
	pssh_host_set_jump(h, "n3");
	ends(once(&d, h, "true"), "exit 0", "another one, over a jump host that is connected");
	drive_end(&d, "circles");
}

/* The last bytes of a packet that the way through the jump host did not take at once, with nothing else to wake us. */
static void check_tail(void)
{
	static char piece[32700];
	struct pssh_task *t;
	struct pssh_host *h;
	struct seen *s;

	fresh();
	h = host(&d, "n2");
	pssh_host_set_jump(h, "n1");
	t = command(&d, "echo begun; head -c 32700 | wc -c");
	if (pssh_task_open_input(t) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	s = drive_seen(&d, t, h);
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	drive_for(&d, 200); /* quiet, or the tail would go along */
	memset(piece, 'x', sizeof piece);
	pssh_task_write(t, NULL, piece, sizeof piece);
	drive_done(&d, 1);
	has_str(s->out, "32700", "a piece that is a little too long for one packet of the jump host arrives");
	drive_end(&d, "tail");
}

static void check_many(void)
{
	enum { HOSTS = 50 };
	struct pssh_task *t;
	unsigned good = 0;

	fresh();
	t = command(&d, "hostname");
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, behind("n1", 41, i));
	pssh_task_start(t);
	ok(drive_until(&d, &d.done, 1, DRIVE_PATIENCE_MS), "%d targets over one jump connection end", HOSTS);
	for (size_t i = 0; i < d.count; i++)
		good += strcmp(end_of(&d.seen[i]), "exit 0") == 0 && d.seen[i].out &&
			strncmp(d.seen[i].out, pssh_host_name(d.seen[i].host),
				strlen(pssh_host_name(d.seen[i].host))) == 0;
	is_int(good, HOSTS, "all of them well");
	for (size_t i = 0; i < d.count && i < 5 && good < HOSTS; i++)
		if (strcmp(end_of(&d.seen[i]), "exit 0") != 0)
			diag("%s: %s", pssh_host_name(d.seen[i].host), d.seen[i].text);
	is_int(d.up, HOSTS + 1, "the jump host was connected to once");
	drive_end(&d, "many");
}

static void check_volume(void)
{
	struct pssh_task *t;
	unsigned good = 0;

	fresh();
	d.keep = false;
	t = command(&d, "yes-bytes 10000000");
	pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, 0, 0);
	for (unsigned i = 0; i < 4; i++)
		pssh_task_add(t, behind(i % 2 ? "n1" : "n1,n2", 42, i));
	pssh_task_start(t);
	ok(drive_until(&d, &d.done, 1, DRIVE_PATIENCE_MS), "10 MB from each of four over jump hosts");
	for (size_t i = 0; i < d.count; i++)
		good += strcmp(end_of(&d.seen[i]), "exit 0") == 0 && d.seen[i].out_len == 10000000;
	is_int(good, 4, "all of it arrives");
	drive_end(&d, "volume");
}

static struct pssh_host *jump_host;

/* The jump connection is a host like any other: its HOST_UP tells which. */
static void find_jump(void)
{
	const struct pssh_event *ev;

	while (!jump_host && pssh_wait(d.p, &ev, 20000) == 1) {
		if (ev->type == PSSH_EV_HOST_UP && strcmp(pssh_host_name(ev->host), "n1") == 0)
			jump_host = ev->host;
		drive_take(&d, ev);
	}
}

static void check_death(void)
{
	enum { HOSTS = 5 };
	struct pssh_task *t, *other;
	struct pssh_host *direct;
	unsigned good = 0;

	fresh();
	t = command(&d, "echo on; hang");
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, behind("n1", 43, i));
	direct = host(&d, "n2");
	other = command(&d, "sleep 2; echo there");
	pssh_task_add(other, direct);
	pssh_task_start(t);
	pssh_task_start(other);
	find_jump();
	for (int i = 0; i < 500 && d.count < HOSTS; i++)
		drive_for(&d, 10);
	for (size_t i = 0; i < HOSTS; i++)
		drive_until(&d, &drive_seen(&d, t, light_host_number(&d, &l, 43, (unsigned)i))->outputs, 1,
			DRIVE_PATIENCE_MS);
	once(&d, jump_host, "kill -9 $PPID");
	if (d.done < 2)
		drive_until(&d, &d.done, 2, DRIVE_PATIENCE_MS);
	for (size_t i = 0; i < d.count; i++)
		if (d.seen[i].task == t)
			good += d.seen[i].type == PSSH_EV_ERROR &&
				(d.seen[i].status == PSSH_EPROXY || d.seen[i].status == PSSH_ECLOSED);
	is_int(good, HOSTS, "when the jump host dies its riders fail");
	diag("'%s'", drive_seen(&d, t, light_host_number(&d, &l, 43, 0))->text);
	if (d.done < 3)
		drive_until(&d, &d.done, 3, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, other, direct), "exit 0", "and nobody else");
	ends(once(&d, light_host_number(&d, &l, 43, 0), "true"), "exit 0", "the next task makes the way anew");
	drive_end(&d, "death");
}

static void check_proxy(void)
{
	struct pssh_host *h;
	char text[600];
	int64_t begin;

	fresh();
	h = host(&d, "by-proxy");
	pssh_host_pin(h, env("SSHD_PIN"));
	pssh_host_set_proxy(h, env("SSHD_PROXY"));
	ends(once(&d, h, "echo here; seq 1 100000"), "exit 0", "an sshd behind a proxy command");
	is_int(drive_seen(&d, d.seen[0].task, h)->out_len, 5 + 588895, "and its output");
	h = host(&d, "silent-fail");
	pssh_host_set_proxy(h, "exit 3");
	ends(once(&d, h, "true"), "PSSH_EPROXY", "a proxy command that fails");
	h = host(&d, "loud-fail");
	pssh_host_set_proxy(h, "echo 'no way to %h port %p' >&2; exit 1");
	ends(once(&d, h, "true"), "PSSH_EPROXY", "one that says why");
	has_str(d.seen[d.count - 1].text, "no way to loud-fail port 22", "is heard");
	h = host(&d, "missing");
	pssh_host_set_proxy(h, "/nonexistent/program %h");
	ends(once(&d, h, "true"), "PSSH_EPROXY", "one that does not exist");
	h = host(&d, "hanging");
	snprintf(text, sizeof text, "exec perl -e 'sleep 1000' pssh-proxy-%d", (int)getpid());
	pssh_host_set_proxy(h, text);
	pssh_set_deadline(d.p, PSSH_PHASE_HANDSHAKE, 1000);
	begin = now_ms();
	ends(once(&d, h, "true"), "PSSH_ETIMEOUT", "one that hangs");
	ok(now_ms() - begin < 25000, "ends at the deadline");
	drive_for(&d, 500);
	snprintf(text, sizeof text, "pssh-proxy-%d", (int)getpid());
	is_int(wait_marked(text, 0, DRIVE_PATIENCE_MS), 0, "and is gone");
	pssh_set_deadline(d.p, PSSH_PHASE_HANDSHAKE, 30000);
	h = host(&d, "chatty");
	pssh_host_set_proxy(h, "yes");
	ends(once(&d, h, "true"), "PSSH_EPROTO", "one that never stops talking");
	drive_end(&d, "proxy");
}

int main(void)
{
	char key[300];
	int fds;

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "light", (const char *const[]){ "--authorized", key, NULL });
	fds = count_fds();
	check_hops();
	check_circles();
	check_tail();
	check_many();
	check_volume();
	check_death();
	check_proxy();
	is_int(count_fds(), fds, "no descriptor is left");
	ok(waitpid(-1, NULL, WNOHANG) == 0, "no dead child is left"); /* the light server lives */
	light_down(&l);
	return done();
}
