/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod provision: provision.c has the table of verbs. provision_file.c reads clusters and provision_set.c changes
 * them by options; provision_go.c, _nodes.c, _remove.c and _upgrade.c work on nodes; provision_list.c and _init.c only
 * look; provision_stack.c and _stackcheck.c are for who writes a stack.
 */
#ifndef CLI_CMD_PROVISION_PROVISION_H
#define CLI_CMD_PROVISION_PROVISION_H

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/report/display.h"
#include "cli/provision/rollout/rollout.h"
#include "cli/provision/report/runlog.h"

enum { PROVISION_TEXT = 1 << 20, PROVISION_PATH = 4096, PROVISION_ROLE_KEYS = 64 };

#define PROVISION_SUDO_OPTION \
	{ \
		"ask-sudo", 0, OPTION_FLAG, \
			.help = "ask for sudo's password at the start, unless NANOPOD_SUDO_PASSWORD is set" \
	}

/* The cluster of a verb, and what the verb needs to work on it. */
struct provision {
	struct nanopod *np;
	const struct options *o;
	char folder[PROVISION_PATH];  /* of stacks, separated by ':' */
	char *file;                   /* for error messages: a path */
	struct buf text;              /* of the cluster file, as changed by options */
	struct cluster *c;
	struct runlog *j;
	struct display *d;
	struct rollout *e;
	char *password;               /* of sudo; provision_release() wipes it */
	const char **skip;            /* gates */
	bool bare;                    /* the options are another command's */
	bool mute;                    /* the display prints nothing */
	bool known;  /* stacks that cannot be read are no error; provision_warn_broken() tells of them */
	bool undoes; /* it only undoes: gates about what would be installed do not count */
	const char *kept;             /* name of a kept cluster, whose members are known; NULL: a file */
	bool gone;                    /* its reservation has no nodes any more: kept members stand for them */
	bool forgets;                 /* the verb can do with that; for others it is an error */
	int said;                     /* the exit status of an error about nodes that was already printed */
};

/* Returns an exit status, after printing the error. Call provision_release() in any case. */
int provision_init(struct provision *p, struct nanopod *np, const struct options *o);
/* The same for a command without provision's options: it changes nothing in the file and skips no gate. */
int provision_init_bare(struct provision *p, struct nanopod *np, const struct options *o);
void provision_release(struct provision *p);

/* ---- provision_file.c: where it comes from ---------------------------------------------------- */

/* Reads the cluster and applies options to it. words: its name, a file, or stacks with -w or -r. */
int provision_take(struct provision *p, char **words);
/* The same for a name or a file; -w and -r do not name its nodes. */
int provision_take_cluster(struct provision *p, const char *word);
/* Writes the text of a new file for these stacks on the nodes of -w and -r, with --name and --role. */
int provision_new_text(struct provision *p, char **stacks, bool comments);
/* Whether the word is a file's path, not a name. */
bool provision_is_path(const char *word);
/* Reads the text again after a change. */
int provision_read(struct provision *p);
/* The hosts of -w, -r and --hosts-file, never an empty list. An exit status. */
int provision_hosts(struct provision *p, struct pssh_list **out);
/* Reduces the cluster to the marked members; they keep their roles. */
void provision_only(struct cluster *c, const bool *which);

/* ---- provision_set.c ------------------------------------------------------------------------------ */

/*
 * Changes the file's text as the options say. roles, sets: whether --role and --set count; 'add' uses --role otherwise.
 */
int provision_set(struct provision *p, bool roles, bool sets);
/* Reads the text into a second cluster. */
int provision_parse(struct provision *p, struct cluster **out);
void provision_warn_broken(struct provision *p);
/* Expands the hosts of a role. */
int provision_expand(struct provision *p, const char *text, struct pssh_list *into);

/* ---- provision_go.c ------------------------------------------------------------------------------ */

/*
 * Takes the journal's lock, opens the display, connects, reads facts and checks gates. results: NULL: standard error.
 */
int provision_open(struct provision *p, FILE *results);
/* Connects again, for other members. */
int provision_reopen(struct provision *p, struct cluster *c);
/* Plans, asks (unless asked already), applies, verifies, and saves the file. verb: for the journal. */
int provision_apply(struct provision *p, const char *verb, bool asked);
/* Saves the file and its members as the last applied. */
int provision_keep(struct provision *p);
/* Reports the end to the display and the journal. Returns status. */
int provision_end(struct provision *p, const char *verb, int status);
/* 0: yes, or -y; else an exit status, after saying that nothing was changed. */
int provision_agree(struct provision *p, const char *question);
/* The worse of two exit statuses. */
int provision_worse(int a, int b);
/* Whether the status means that no node succeeded. */
bool provision_fatal(int status);

int provision_cluster(struct nanopod *np, const struct options *o, char **words);   /* without a verb, and "apply" */
int provision_plan(struct nanopod *np, const struct options *o, char **words);
int provision_verify(struct nanopod *np, const struct options *o, char **words);
int provision_status(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_nodes.c ---------------------------------------------------------------------------- */

/* The keys of the file's `roles`, each malloc'd. */
size_t provision_role_keys(struct provision *p, char *keys[PROVISION_ROLE_KEYS]);
int provision_add(struct nanopod *np, const struct options *o, char **words);
int provision_drop(struct nanopod *np, const struct options *o, char **words);
int provision_drain(struct nanopod *np, const struct options *o, char **words);
int provision_undrain(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_call.c: functions of steps that are typed by name ------------------------------------ */

bool provision_has(const struct stack_step *s, const char *function);
/* Calls the function of step `drain` of every stack that has it, on a suitable node. which: the members to drain. */
int provision_call_about(struct provision *p, const char *function, const bool *which, bool backwards);
/* Shows what runs on the cluster, as far as nodes answer. STATUS_INT on Ctrl-C. */
int provision_at_work(struct provision *p);
/* Calls the function of every step that has it, in the order of stacks, on all its members; word: its $1, or NULL. */
int provision_call_steps(struct provision *p, const char *function, const char *word);

/* ---- provision_users.c ------------------------------------------------------------------------------------ */

int provision_adduser(struct nanopod *np, const struct options *o, char **words);
int provision_deluser(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_remove.c ---------------------------------------------------------------------------------- */

/* "remove": the cluster; or, in provision_takeoff.c, the stacks that more words name. */
int provision_remove(struct nanopod *np, const struct options *o, char **words);

int provision_take_off(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_upgrade.c -------------------------------------------------------------------------------- */

int provision_upgrade(struct nanopod *np, const struct options *o, char **words);

/* ---- provision_stack.c, provision_stackcheck.c: stacks of one's own ------------------------------------- */

int provision_stack(struct nanopod *np, const struct options *o, char **words);
int provision_stackcheck(struct nanopod *np, const struct options *o, char **words); /* "stack check" */

/* ---- provision_list.c, provision_init.c ---------------------------------------------------------------- */

int provision_list(struct nanopod *np, const struct options *o, char **words);
int provision_stacks(struct nanopod *np, const struct options *o, char **words);
int provision_bundle(struct nanopod *np, const struct options *o, char **words);
int provision_write(struct nanopod *np, const struct options *o, char **words);     /* "init" */

#endif
