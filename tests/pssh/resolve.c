/* SPDX-License-Identifier: Apache-2.0 */
/* A name server that never answers delays neither the other hosts nor the end of the fleet. */
#include "light.h"

int main(void)
{
	struct drive d;
	struct light l;
	struct pssh_task *t;
	struct pssh_host *silent, *good;
	char key[300];
	int64_t begin;

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "resolve", (const char *const[]){ "--authorized", key, NULL });
	light_fleet(&d, &l);
	pssh_set_deadline(d.p, PSSH_PHASE_RESOLVE, 5000);
	silent = light_host(&d, &l, "silent.example");
	good = light_host(&d, &l, "127.90.0.1");
	t = command(&d, "hostname");
	pssh_task_add(t, silent);
	pssh_task_add(t, good);
	begin = now_ms();
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, good)->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, good), "exit 0", "another host is done");
	ok(now_ms() - begin < 4500, "without waiting for the name server (%d ms)", (int)(now_ms() - begin));
	drive_until(&d, &d.done, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, silent), "PSSH_ETIMEOUT", "the name that nobody resolves ends at its deadline");
	has_str(drive_seen(&d, t, silent)->text, "looking up its name", "the sentence says with what");
	ok(now_ms() - begin >= 5000 && now_ms() - begin < 30000, "then, not before (%d ms)", (int)(now_ms() - begin));

	/* More silent names than threads. */
	t = command(&d, "hostname");
	for (int i = 0; i < 50; i++) {
		char name[64];

		snprintf(name, sizeof name, "silent%d.example", i);
		pssh_task_add(t, light_host(&d, &l, name));
	}
	pssh_task_add(t, good);
	pssh_task_start(t);
	ok(drive_until(&d, &d.done, 2, DRIVE_PATIENCE_MS), "fifty of them end as well");
	ends(drive_seen(&d, t, good), "exit 0", "and an address needs no name server");
	begin = now_ms();
	drive_end(&d, "resolve");
	ok(now_ms() - begin < 3000, "the fleet does not wait for them in its end");
	light_down(&l);
	return done();
}
