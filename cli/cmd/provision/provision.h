/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod provision: provision.c's table takes where a cluster comes from out of provision_file.c, what is done with it
 * out of provision_go.c, _nodes.c, _remove.c and _upgrade.c, what only looks out of provision_list.c and provision_init.c.
 */
#ifndef CLI_CMD_PROVISION_PROVISION_H
#define CLI_CMD_PROVISION_PROVISION_H

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/report/display.h"
#include "cli/provision/rollout/rollout.h"
#include "cli/provision/report/runlog.h"

enum { PROVISION_TEXT = 1 << 20, PROVISION_PATH = 4096 };

#define PROVISION_SUDO_OPTION \
	{ \
		"ask-sudo", 0, OPTION_FLAG, \
			.help = "ask for sudo's password at once; NANOPOD_SUDO_PASSWORD has it without being asked" \
	}

/* A cluster that a verb is about, and what it takes to work on it. */
struct provision {
	struct nanopod *np;
	const struct options *o;
	char folder[PROVISION_PATH];  /* of stacks */
	char *file;                   /* for complaints: a path, or the name of a kept one */
	struct buf text;              /* of the cluster file, with what options change in it */
	struct cluster *c;
	struct runlog *j;
	struct display *d;
	struct rollout *e;
	char *password;               /* of sudo; wiped */
	const char **skip;            /* gates */
	bool bare;                    /* another command's options */
	bool mute;                    /* the display only gathers */
	int said;                     /* a status: that the nodes of an expression cannot be had was said */
};

/* An exit status, after saying what is wrong. provision_release() in any case. */
int provision_init(struct provision *p, struct nanopod *np, const struct options *o);
/* For a command that has none of provision's options: nothing is changed in the file, and no gate is in the way. */
int provision_init_bare(struct provision *p, struct nanopod *np, const struct options *o);
void provision_release(struct provision *p);
/* Before anything is asked of anybody: nobody can be asked, and there is no -y? Then an exit status. */
int provision_can_ask(struct nanopod *np, const struct options *o);

/* ---- provision_file.c: where it comes from ---------------------------------------------------- */

/* words: a cluster's name, a file, or stacks with -w or -r. It is read, and what options say is laid over it. */
int provision_take(struct provision *p, char **words);
/* A name or a file, and no -w or -r of its own. */
int provision_take_cluster(struct provision *p, const char *word);
/* A new file's text, for these stacks on what -w and -r name, with --name and --role. */
int provision_new_text(struct provision *p, char **stacks, bool comments);
/* The text was changed: read it again. */
int provision_read(struct provision *p);
/* The same text as another cluster. */
int provision_parse(struct provision *p, struct cluster **out);
/* What -w, -r and --hosts-file name. An exit status; the list is not empty. */
int provision_hosts(struct provision *p, struct pssh_list **out);
/* The members that are marked alone, as the file says. */
void provision_only(struct cluster *c, const bool *which);
/* One of the file's roles as a list of hosts. */
int provision_expand(struct provision *p, const char *text, struct pssh_list *into);

/* ---- provision_set.c ------------------------------------------------------------------------------ */

/* Changes the file's text as the options say. roles, sets: whether --role and --set count; 'add' uses --role otherwise. */
int provision_set(struct provision *p, bool roles, bool sets);

/* ---- provision_go.c ------------------------------------------------------------------------------ */

/* The journal's lock, the display, the connections, facts and gates. results: NULL: standard error. */
int provision_open(struct provision *p, FILE *results);
/* The same again, for other members. */
int provision_reopen(struct provision *p, struct cluster *c);
/* Plan, question (unless it was asked already), apply, verify, and the file is kept. verb: for the journal. */
int provision_apply(struct provision *p, const char *verb, bool asked);
/* The file and its members, as what is applied. */
int provision_keep(struct provision *p);
/* Says how it ended: the display's end, the journal's line. Returns status. */
int provision_end(struct provision *p, const char *verb, int status);
/* 0: yes, or -y; else an exit status, and it was said that nothing was done. */
int provision_agree(struct provision *p, const char *question);
/* What both say: the worse. */
int provision_worse(int a, int b);
/* Nothing went well. */
bool provision_fatal(int status);

int provision_cluster(struct nanopod *np, const struct options *o, char **words);   /* without a verb, and "apply" */
int provision_plan(struct nanopod *np, const struct options *o, char **words);
int provision_verify(struct nanopod *np, const struct options *o, char **words);
int provision_status(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_nodes.c ---------------------------------------------------------------------------- */

int provision_add(struct nanopod *np, const struct options *o, char **words);
int provision_drop(struct nanopod *np, const struct options *o, char **words);
int provision_drain(struct nanopod *np, const struct options *o, char **words);
int provision_undrain(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_call.c: functions of steps that are typed by name ------------------------------------ */

bool provision_has(const struct stack_step *s, const char *function);
/* Of every stack that has it in step `drain`, on the right node. which: members that it is about. */
int provision_call_about(struct provision *p, const char *function, const bool *which, bool backwards);
/* Says what runs on it now, as far as somebody answers. STATUS_INT on Ctrl-C. */
int provision_at_work(struct provision *p);
/* Of every step that has it, in the stacks' order, on all its members; word: $1 of it, or NULL. */
int provision_call_steps(struct provision *p, const char *function, const char *word);

/* ---- provision_remove.c ---------------------------------------------------------------------------------- */

int provision_remove(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_upgrade.c -------------------------------------------------------------------------------- */

int provision_upgrade(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_list.c, provision_init.c ---------------------------------------------------------------- */

int provision_list(struct nanopod *np, const struct options *o, char **words);
int provision_stacks(struct nanopod *np, const struct options *o, char **words);
int provision_bundle(struct nanopod *np, const struct options *o, char **words);
int provision_write(struct nanopod *np, const struct options *o, char **words);     /* "init" */

#endif
