/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the text for a node's shell. Values from files or nodes are always single quoted words. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/provision/rollout/rollout_part.h"
#include "cli/provision/rollout/uploadid.h"

static void rollout_script_add(struct buf *b, const char *text)
{
	if (buf_adds(b, text) != 0)
		command_nomem();
}

static void rollout_script_set(struct buf *b, const char *name, const char *value)
{
	rollout_script_add(b, name);
	rollout_script_add(b, "=");
	if (str_quote_sh(b, value ? value : "") != 0)
		command_nomem();
	rollout_script_add(b, "\n");
}

/* "S_version_k3s" */
static void set_setting(struct buf *b, const char *key, const char *value)
{
	char name[256] = "S_";
	size_t n = 2;

	for (; *key && n < sizeof name - 1; key++)
		name[n++] = isalnum((unsigned char)*key) ? *key : '_';
	name[n] = '\0';
	rollout_script_set(b, name, value);
}

void rollout_script_facts(const struct rollout *e, struct buf *b)
{
	struct buf names, gates;

	buf_init(&names, 1 << 16);
	buf_init(&gates, 1 << 16);
	for (size_t u = 0; u < e->c->use_count; u++) {
		const char *of = e->c->uses[u].stack->gates;

		if (of && buf_addf(&gates, "%s ", of) != 0)
			command_nomem();
		for (char *const *p = e->c->uses[u].stack->packages; p && *p; p++)
			if (buf_addf(&names, "%s%s", names.len ? " " : "", *p) != 0)
				command_nomem();
	}
	rollout_script_add(b, "printf '\\036NP\\tclock\\t%s\\n' \"$(date +%s%N)\"\n");
	rollout_script_set(b, "NP_CLUSTER", e->c->name);
	rollout_script_set(b, "NP_PACKAGES", buf_text(&names));
	rollout_script_set(b, "NP_GATES", buf_text(&gates));
	rollout_script_add(b, "export NP_CLUSTER NP_PACKAGES\n");
	rollout_script_add(b, e->facts_script);
	buf_release(&names);
	buf_release(&gates);
}

/* What the keys of facts in every table begin with. */
static const char *const table_keys[] = {
	"gpu",
	"rdma",
	"init",
	"cgroup",
	"user_namespace",
	"cpus",
	"sockets",
	"cores",
	"threads",
	"memory_mb",
	"os_",
	"arch",
	"k3s_",
	"mtu",
	"ssh_port",
	"candidate_",
	"installed_",
};

int rollout_script_table(const struct rollout *e, char *const *more, struct buf *out)
{
	enum { USUAL = sizeof table_keys / sizeof *table_keys };
	size_t n = 0;
	const char **keys;
	int rc;

	while (more && more[n])
		n++;
	keys = calloc(USUAL + n + 1, sizeof *keys);
	if (!keys)
		command_nomem();
	for (size_t i = 0; i < USUAL + n; i++)
		keys[i] = i < USUAL ? table_keys[i] : more[i - USUAL];
	rc = facts_table(e->c, e->facts, keys, out);
	free(keys);
	return rc;
}

/* The table of a step that asks for more facts. */
static void set_table(const struct rollout *e, const struct work *w, struct buf *b)
{
	struct buf table;

	if (!w->step->facts)
		return;
	buf_init(&table, e->table.max);
	if (rollout_script_table(e, w->step->facts, &table) != 0)
		command_nomem();
	rollout_script_set(b, "NP_TABLE", buf_text(&table));
	rollout_script_set(b, "NP_OWN_TABLE", "yes");
	buf_release(&table);
}

/* Removes the in-memory folders of killed scripts, which may hold secrets. */
static const char sweep[] =
	"for np_x in \"$NP_RUN\"/nanopod.[0-9]*; do\n"
	"\t[ -e \"$np_x\" ] || continue\n"
	"\tnp_y=${np_x#\"$NP_RUN\"/nanopod.}\n"
	"\t[ -d \"/proc/${np_y%%.*}\" ] || rm -rf \"$np_x\"\n"
	"done\n";

void rollout_script_head(const struct rollout *e, size_t m, struct buf *b)
{
	struct use *base = cluster_use(e->c, "base");
	const char *airgap = base ? pairs_or(&base->settings, "airgap", "") : "";
	struct buf unknown;

	buf_init(&unknown, 1 << 18);
	for (size_t i = 0; i < e->c->count; i++)
		if (!e->facts[i].known && buf_addf(&unknown, "%s%s", unknown.len ? " " : "", e->c->members[i]) != 0)
			command_nomem();
	rollout_script_add(b, e->lib);
	rollout_script_add(b, "\n");
	rollout_script_add(b, sweep);
	rollout_script_set(b, "NP_CLUSTER", e->c->name);
	rollout_script_set(b, "NP_NODE", e->c->members[m]);
	rollout_script_set(b, "NP_HOST", facts_get(&e->facts[m], "hostname"));
	rollout_script_set(b, "NP_ADDRESS", facts_get(&e->facts[m], "address"));
	rollout_script_set(b, "NP_UNKNOWN", buf_text(&unknown));
	rollout_script_set(b, "NP_TOKEN", e->token);
	rollout_script_set(b, "NP_OWNER", e->owner);
	rollout_script_set(b, "NP_AIRGAP", *airgap ? "/var/lib/nanopod/airgap" : "");
	rollout_script_set(b, "NP_TABLE", buf_text(&e->table));
	buf_release(&unknown);
}

static void set_roles(const struct work *w, struct buf *b)
{
	const struct stack *s = w->use->stack;
	char words[STACK_ROLES * 64] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->role_count; i++)
		if (w->use->roles[w->member] >> i & 1)
			n += (size_t)snprintf(words + n, sizeof words - n, "%s%.60s", n ? " " : "", s->roles[i].name);
	rollout_script_set(b, "NP_ROLES", words);
}

/* The step's settings, as variables and as a text that the node keeps for the undo. */
static void set_settings(const struct work *w, struct buf *b)
{
	struct buf text;

	buf_init(&text, ENGINE_SCRIPT);
	set_roles(w, &text);
	for (size_t i = 0; i < w->use->settings.count; i++)
		set_setting(&text, w->use->settings.at[i].key, w->use->settings.at[i].value);
	rollout_script_set(b, "NP_SETTINGS", buf_text(&text));
	rollout_script_add(b, "eval \"$NP_SETTINGS\"\n");
	buf_release(&text);
}

/* Defines np_step, which calls a function of the step in a subshell. */
void rollout_script_step(const struct rollout *e, const struct work *w, const char *upload, bool secrets, struct buf *b)
{
	const struct rollout_file *taken = w->step->takes ? rollout_file_find(e, w->step->takes) : NULL;
	const char *local = w->step->upload ? pairs_or(&w->use->settings, w->step->upload, "") : "";
	struct buf id;

	rollout_script_add(b, "np_step() (\n");
	rollout_script_set(b, "NP_STACK", w->use->stack->name);
	rollout_script_set(b, "NP_STEP", w->step->name);
	rollout_script_set(b, "NP_UPLOAD", upload);
	if (*local) {
		buf_init(&id, 1 << 20);
		uploadid_add(local, &id);
		rollout_script_set(b, "NP_UPLOAD_ID", buf_text(&id));
		buf_clear(&id);
		uploadid_sums(local, &id);
		rollout_script_set(b, "NP_UPLOAD_SUMS", buf_text(&id));
		buf_release(&id);
	}
	rollout_script_set(b, "NP_TAKEN_HASH", taken ? taken->hash : "");
	set_table(e, w, b);
	set_settings(w, b);
	if (e->phase == ENGINE_REMOVE)
		rollout_script_add(b, "np_was_set\n");
	if (secrets && taken && taken->text) {
		rollout_script_add(b, "np_take <<'NP_TAKEN_END'\n");
		rollout_script_add(b, taken->text);
		rollout_script_add(b, "\nNP_TAKEN_END\n");
	}
	rollout_script_add(b, w->step->script ? w->step->script : "");
	rollout_script_add(b, "\nnp_work \"$@\"\n)\n");
}

void rollout_script_call(const char *function, const char *const *words, struct buf *b)
{
	rollout_script_add(b, "np_step ");
	if (str_quote_sh(b, function) != 0)
		command_nomem();
	for (; words && *words; words++)
		if (buf_addc(b, ' ') != 0 || str_quote_sh(b, *words) != 0)
			command_nomem();
	rollout_script_add(b, "\n");
}

/* If other steps stay on the node, each first reports what it uses, so that the undo leaves that. */
void rollout_script_undo(struct rollout *e, const struct work *w, const struct graph *staying, struct buf *b)
{
	enum rollout_phase phase = e->phase;

	if (staying) {
		rollout_script_add(b,
			"NP_LEAVING=yes NP_USES=$NP_RUN/nanopod.$$.uses\n(umask 077; : >\"$NP_USES\") || exit 1\ntrap "
			"'rm -f \"$NP_USES\"' EXIT\n");
		e->phase = ENGINE_PLAN;
		for (size_t i = 0; i < staying->count; i++)
			if (staying->at[i].member == w->member && !staying->at[i].step->only_verify) {
				rollout_script_step(e, &staying->at[i], NULL, false, b);
				rollout_script_add(b,
					"np_step check 3>/dev/null || { printf '\\036NP\\tcause\\t%s\\n' 'cannot check "
					"what stays "
					"here'; exit 1; }\n");
			}
		e->phase = phase;
	}
	rollout_script_step(e, w, NULL, false, b);
	rollout_script_call("undo", NULL, b);
}

/* Checks, applies if something differs, and checks again. */
void rollout_script_apply(const struct rollout *e, const struct work *w, bool force, const char *upload, struct buf *b)
{
	rollout_script_step(e, w, upload, true, b);
	rollout_script_add(b, "np_terse=yes\n");
	rollout_script_add(b,
		"np_seen=$(exec 3>&1 1>&2; np_step check)\nnp_seen_status=$?\nprintf '%s\\n' \"$np_seen\" >&3\n"
		"[ $np_seen_status = 0 ] || exit $np_seen_status\n");
	if (!force)
		rollout_script_add(b, "case $np_seen in *\"NP\tdiffers\t\"*) ;; *) exit 0 ;; esac\n");
	rollout_script_add(b, "np_step apply || exit 1\nnp_step check\n");
	if (upload && *upload) {
		rollout_script_add(b, "np_seen_status=$?\n");
		rollout_script_set(b, "np_upload", upload);
		rollout_script_add(b,
			"rm -rf \"$np_upload\"\nrmdir \"${np_upload%/*}\" 2>/dev/null\nexit $np_seen_status\n");
	}
}

static void rollout_script_add_name(const struct work *w, struct buf *b)
{
	if (buf_addf(b, "%s.%s", w->use->stack->name, w->step->name) != 0)
		command_nomem();
}

/* A folder of root's own: in a shared one, others could hold the lock for ever or fake its owner. */
static const char lock_folder[] =
	"mkdir -p \"${np_folder%/*}\"\nmkdir -m 700 \"$np_folder\" 2>/dev/null\n"
	"if [ -L \"$np_folder\" ] || [ ! -d \"$np_folder\" ] || [ ! -O \"$np_folder\" ] || ! chmod 700 \"$np_folder\"; "
	"then\n"
	"\tprintf '\\036NP\\tcause\\t%s\\n' \"'$np_folder' is not a folder of root's own\"\n\texit 1\nfi\n";

/*
 * Holds the lock of a node while nanopod sends lines. The file names the owner, who rewrites it at each line. The file
 * stays: if it were deleted, a waiting process would lock a file that nobody else can find.
 *
 * Another owner who writes is alive. One who is silent may be gone; then its process ends itself when its time is over,
 * so wait for that. A step of this run may still run, on a connection that was lost: its watch (remote_job.c) ends it.
 */
static const char lock_text[] =
	"exec bash -c '\n"
	"say() { printf \"\\036NP\\t%s\\t%s\\n\" \"$1\" \"$(tr -d \"%[:cntrl:]\" <<<\"$2\")\"; }\n"
	"write() { printf \"%s\\t%s\\t%s\\t%s\\n\" $$ \"$np_token\" \"$np_owner\" \"$since\" >\"$lock\"; }\n"
	"hear() {\n"
	"\tIFS= read -r -t $1 x <&9\n"
	"\tcase $? in 0) heard=$SECONDS; [ \"$x\" != exit ] || exit 0; return ;; 1) exit 0 ;; esac\n"
	"\t((SECONDS - heard < " REMOTE_SILENT ")) || exit 0\n"
	"\treturn 1\n"
	"}\n"
	"end_own() {\n"
	"\tcase $pid in \"\" | 0* | 1 | *[!0-9]*) return ;; esac\n"
	"\t! grep -qazE \"^nanopod-(watch|lock)$\" \"/proc/$pid/cmdline\" || kill $pid\n"
	"}\n"
	"take() {\n"
	"\tlocal first=$(stat -c %Y \"$2\") begun=$SECONDS told=-99 newest silent\n"
	"\tuntil flock -n $1; do\n"
	"\t\tnewest=$(stat -c %Y \"$2\") pid= their= who= when=\n"
	"\t\tIFS=\"\t\" read -r pid their who when <\"$2\"\n"
	"\t\tsilent=$(($(date +%s) - newest))\n"
	"\t\tif [ \"$their\" = \"$np_token\" ]; then\n"
	"\t\t\tend_own 2>/dev/null\n"
	"\t\telif [ -n \"$who\" ] && ((newest != first || (silent > 90 && SECONDS - begun > 10))); then\n"
	"\t\t\tsay held \"$who since $when\"\n"
	"\t\t\texit 0\n"
	"\t\telif [ -n \"$who\" ] && ((SECONDS - begun >= 2 && SECONDS - told >= 15)); then\n"
	"\t\t\ttold=$SECONDS\n"
	"\t\t\tsay waits \"waiting for $who, at work here since $when and silent for $silent s\"\n"
	"\t\tfi\n"
	"\t\thear 0.3\n"
	"\tdone\n"
	"}\n"
	"lock=$np_folder/nanopod-provision.lock since=$(date \"+%F %T\") heard=$SECONDS mine=\n"
	"trap \"[ -z \\\"\\$mine\\\" ] || : >\\\"\\$lock\\\"\" EXIT\n"
	"trap exit TERM HUP INT\n"
	"exec 7>>\"$np_folder/step.lock\" 8>>\"$lock\" || exit 1\n"
	"take 8 \"$lock\"\n"
	"mine=yes\n"
	"write\n"
	"take 7 \"$np_folder/step.lock\"\n"
	"exec 7>&-\n"
	"say locked \"$np_token\"\n"
	"while :; do ! hear 15 || write; done\n"
	"' nanopod-lock\n";

void rollout_script_lock(const struct rollout *e, struct buf *b)
{
	rollout_script_set(b, "np_token", e->token);
	rollout_script_set(b, "np_owner", e->owner);
	rollout_script_add(b, "np_folder=${NANOPOD_RUN:-/run}/nanopod-lock\n");
	rollout_script_add(b, "export np_token np_owner np_folder\n");
	rollout_script_add(b, lock_folder);
	rollout_script_add(b, lock_text);
}

/* Makes a folder for an upload that the signed-in user can write. */
void rollout_script_room(const struct work *w, struct buf *b)
{
	rollout_script_add(b,
		"np_room=$HOME/.nanopod-upload\n[ \"$(id -u)\" != 0 ] || "
		"np_room=${NANOPOD_UPLOADS:-/var/lib/nanopod/upload}\n"
		"umask 077\nmkdir -p \"$np_room\" && rm -rf \"$np_room/");
	rollout_script_add_name(w, b);
	rollout_script_add(b, "\" || exit 1\nprintf '\\036NP\\tfact\\tupload\\t%s\\n' \"$np_room/");
	rollout_script_add_name(w, b);
	rollout_script_add(b, "\"\n");
}
