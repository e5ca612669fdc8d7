/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack as its folder describes it (stacks/NAME/stack.yaml, nanopod-cluster(5) has the format): roles, settings with
 * their defaults, versions, and steps, whose scripts are POSIX sh beside it.
 */
#ifndef CLI_PROVISION_MODEL_STACK_H
#define CLI_PROVISION_MODEL_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

enum { STACK_ROLES = 8, STACK_STEPS = 48, STACK_NEEDS = 12, STACK_SETTINGS = 64 };

/* X(name, word) */
#define STACK_TYPES(X) \
	X(STACK_TEXT, "text") \
	X(STACK_FLAG, "flag") /* yes or no: a script sees "yes" or "no" */ \
	X(STACK_NUMBER, "number") \
	X(STACK_WORDS, "words") /* a list; a script sees its words separated by spaces */ \
	X(STACK_ENUM, "enum")   /* one of values */ \
	X(STACK_MAP, "map")     /* any map below it: a script sees S_key (the names) and S_key_NAME_… */ \
	X(STACK_FILE, "file")   /* on the user's machine: the step that names it in `upload` uploads it */

enum stack_type {
#define STACK_X(name, word) name,
	STACK_TYPES(STACK_X)
#undef STACK_X
};

struct stack_setting {
	char *key;              /* "accounting"; letters, digits and '-', in scripts '_' */
	enum stack_type type;
	char *fallback;         /* as text, NULL: "" */
	char *values;           /* of an enum: "a|b" */
	char *help;
};

struct stack_role {
	char *name;             /* "controller" */
	char *help;
	unsigned min, max;      /* how many nodes; max 0: any number */
	char *fallback;         /* if the cluster file does not name it: "first", "rest", "all", or "none" */
};

/* "STEP", "STEP@ROLE", "STEP@all", "STACK.STEP@ROLE": without @, that step on the same node. */
struct stack_need {
	char *stack, *step, *role; /* stack NULL: this one; role NULL: the same node */
	bool must;                 /* `needs`: its failure blocks this step; else (`after`) it only comes first */
};

struct stack_step {
	char *name, *help;
	unsigned roles;            /* bit i: on nodes of role i; 0: on all nodes of the stack */
	char *when;                /* "accounting=yes", or "accounting!=no"; NULL: always */
	struct stack_need needs[STACK_NEEDS];
	size_t need_count;
	char **facts;              /* its table has these too: what their keys begin with; ends with NULL; NULL */
	char *gives, *takes;       /* name of the file that a step hands to others: "munge-key"; NULL */
	char *upload;              /* setting whose local file or folder is uploaded to $NP_UPLOAD; NULL */
	unsigned wave;             /* at most so many nodes at a time; 0: any */
	bool quorum;               /* after a failure on one node it does not start on another */
	bool only_verify;          /* has no check and no apply: it looks after everything is done */
	unsigned timeout_s;        /* for each of its functions; default 600 */
	char *script;              /* the text of NAME.sh */
};

struct stack {
	char *name, *about, *dir;
	char *folders;                        /* where it was looked for, as stack_read() got them */
	char *first;                          /* first command to type, "nanopod ssh {controller} sinfo"; NULL */
	char **needs_stacks;                  /* stacks that must be there too; ends with NULL */
	char **after_stacks;                  /* stacks that come first if present; ends with NULL */
	struct stack_role roles[STACK_ROLES]; /* at least one: "nodes", which is all members, if stack.yaml has none */
	size_t role_count;
	struct stack_setting settings[STACK_SETTINGS];   /* `versions` are settings too: "version-k3s" */
	size_t setting_count;
	struct stack_step steps[STACK_STEPS];
	size_t step_count;
	char *gates;     /* gates it needs: words of cli/provision/model/gate.h, separated by spaces */
	char **packages; /* packages whose facts are candidate_NAME and installed_NAME; ends with NULL */
	/* lines "WORD ROLE KIND WHAT" of `nanopod logs CLUSTER WORD`; KIND: file, dir, unit, pod, command */
	char *logs;
};

/*
 * The folders of stacks, separated by ':'; the first that has a stack or a file wins. $NANOPOD_STACKS, whose empty
 * parts are those that come with nanopod; else one's own, ~/.config/nanopod/stacks, and those.
 */
int stack_folders(char *room, size_t size, struct fail *f);
/* One's own, whether it exists or not. */
int stack_own_folder(char *room, size_t size, struct fail *f);
/* The path of "slurm/stack.yaml" or "common/lib.sh" in the first that has it; false with the path in the last one. */
bool stack_find(const char *folders, const char *name, char *path, size_t size);

/* 0; -ENOENT with the nearest name; -EINVAL with file and line. */
int stack_read(const char *folders, const char *name, struct stack **out, struct fail *f);
/* The same with a given text of stack.yaml; the scripts come from where stack_read() would look for it. */
int stack_parse(const char *folders, const char *name, const char *text, size_t len, struct stack **out,
	struct fail *f);
void stack_free(struct stack *s);

/* Names of all stacks in them, sorted, each once, "common" left out; ends with NULL; free each and all. */
char **stack_names(const char *folders);

const struct stack_role *stack_role(const struct stack *s, const char *name);
const struct stack_step *stack_step(const struct stack *s, const char *name);
const struct stack_setting *stack_setting(const struct stack *s, const char *key);

/* Whether it may name a stack, step or setting: letters, digits and '-', at most 48, no '-' at its start. */
bool stack_word(const char *text);

/* The one of `count` words that the user may have meant; NULL if none is near. */
const char *stack_nearest(const char *typed, const char *const *words, size_t count);

#endif
