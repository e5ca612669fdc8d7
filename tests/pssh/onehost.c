/* SPDX-License-Identifier: Apache-2.0 */
/* One host of a task: ended alone, and with a command, variables and a deadline of its own. */
#include "drive.h"

static struct drive d;
static struct pssh_host *n[3];

static struct pssh_task *on_all(const char *text)
{
	struct pssh_task *t = command(&d, text);

	for (int i = 0; i < 3; i++)
		pssh_task_add(t, n[i]);
	return t;
}

static void all_begun(struct pssh_task *t)
{
	for (int i = 0; i < 3; i++)
		drive_begun(&d, drive_seen(&d, t, n[i]));
}

static void check_cancel(void)
{
	struct pssh_task *t = on_all("exec cat");

	pssh_task_set_host_command(t, n[1], "exit 99");
	is_int(pssh_task_set_host_command(t, n[1], NULL), 0, "a host's own command is taken back");
	pssh_task_open_input(t);
	pssh_task_start(t);
	all_begun(t);
	is_int(pssh_task_cancel_host(t, n[1], "BOGUS", 3000), PSSH_EINVAL, "an unknown signal is refused");
	is_int(pssh_task_cancel_host(t, n[1], "TERM", 20000), 0, "one host is cancelled");
	drive_until(&d, &drive_seen(&d, t, n[1])->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, n[1]), "signal TERM", "its command ends");
	is_int(drive_seen(&d, t, n[1])->cancelled, 1, "and the end is marked as asked for");
	is_int((long long)pssh_task_left(t), 2, "two are left");
	is_int(pssh_task_cancel_host(t, n[1], "TERM", 3000), PSSH_ENOENT, "it cannot be cancelled again");
	is_int(pssh_task_stop_host(t, n[2]), 0, "another one is stopped");
	pssh_task_write(t, NULL, "goes on\n", 8);
	pssh_task_end_input(t, NULL);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, n[2]), "PSSH_ECANCEL", "that one ends at once");
	is_int(drive_seen(&d, t, n[2])->cancelled, 1, "marked, too");
	ends(drive_seen(&d, t, n[0]), "exit 0", "the third one goes on to its end");
	is_int(drive_seen(&d, t, n[0])->cancelled, 0, "and is not marked");
	is_str(drive_seen(&d, t, n[0])->out, "goes on\n", "with the input that came later");
}

static void check_own(void)
{
	struct pssh_task *t = on_all("echo common $A $B $C");

	pssh_task_set_env(t, "A", "a");
	is_int(pssh_task_set_host_env(t, n[1], "B", "own"), 0, "a variable of one host");
	is_int(pssh_task_set_host_env(t, n[1], "C", "c1"), 0, "another one");
	is_int(pssh_task_set_host_env(t, n[1], "C=", "c"), PSSH_EINVAL, "no name with =");
	is_int(pssh_task_set_host_command(t, n[2], "echo other $A; exit 4"), 0, "a command of one host");
	pssh_task_set_env(t, "B", "b");
	pssh_task_set_env(t, "C", "c");
	pssh_task_start(t);
	drive_done(&d, 1);
	is_str(drive_seen(&d, t, n[0])->out, "common a b c\n", "a host without anything of its own");
	is_str(drive_seen(&d, t, n[1])->out, "common a own c1\n", "its own variables win");
	is_str(drive_seen(&d, t, n[2])->out, "other a\n", "its own command, with the task's variables");
	ends(drive_seen(&d, t, n[2]), "exit 4", "and its own status");
	is_int(pssh_task_set_host_command(t, n[2], "true"), PSSH_ENOENT, "after its end it is not in the task");
}

static void check_deadline(void)
{
	struct pssh_task *t = on_all("exec cat");
	struct pssh_host *other = host(&d, "n1:1");

	pssh_task_open_input(t);
	pssh_task_set_deadline(t, 600000);
	is_int(pssh_task_set_host_deadline(t, n[0], 300), 0, "a deadline of one host");
	is_int(pssh_task_set_host_deadline(t, other, 300), PSSH_ENOENT, "not of one that is not in the task");
	pssh_task_start(t);
	all_begun(t);
	is_int(pssh_task_set_host_command(t, n[1], "true"), PSSH_EINVAL, "a command that runs is not changed");
	drive_until(&d, &drive_seen(&d, t, n[0])->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, n[0]), "PSSH_ETIMEOUT", "only that host runs out of time");
	pssh_task_end_input(t, NULL);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, n[1]), "exit 0", "the others have theirs");
	ends(drive_seen(&d, t, n[2]), "exit 0", "both");
}

int main(void)
{
	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	for (int i = 0; i < 3; i++)
		n[i] = host(&d, i == 0 ? "n1" : i == 1 ? "n2" : "n3");
	check_cancel();
	check_own();
	check_deadline();
	drive_end(&d, "one host");
	return done();
}
