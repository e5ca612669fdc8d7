/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host join, leave and token: joins a machine to a market and removes it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli/local/daemons.h"
#include "cli/frame/cell.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/json.h"
#include "cli/trade/market_link.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/frame/rows.h"
#include "cli/frame/settings.h"
#include "cli/trade/sku_list.h"
#include "cli/trade/tokenfile.h"
#include "market/when.h"

enum { LOOK_MS = 60 * 1000, JOIN_MS = 120 * 1000, DAY = 86400, NAME_MAX_BYTES = 256, BODY_MAX = 16 * 1024 };

#define TOKEN_VARIABLE "NANOPOD_JOIN_TOKEN"

/* ---- The token that a machine joins with ---------------------------------------------------- */

static const struct column token_columns[] = {
	{ "token", COLUMN_ID, "lets one machine join, once; shown only this once" },
	{ "id", 0, "its id, for 'token revoke'" },
	{ "expires", 0, "when it expires" },
	{ "url", 0, "the market's URL with its key, for 'host join'" },
	{ 0 },
};

static int host_join_read_life(struct nanopod *np, const struct options *o, int64_t *seconds)
{
	struct fail why = { 0 };

	*seconds = DAY;
	if (option_given(o, "expires") && when_duration(option_text(o, "expires"), seconds, &why))
		return print_fail_field(np, STATUS_USAGE, "--expires", NULL, "cannot create that token: %s", why.text);
	return 0;
}

/* The URL for others, with the key that the market calls its own. */
static void url_with_key(struct market_link *m, struct buf *out)
{
	const char *key = m->about_doc ? doc_text(m->about_doc, "tls_public_key") : NULL;

	if (buf_adds(out, m->url) || (key && (buf_adds(out, "#") || buf_adds(out, key))))
		command_nomem();
}

static int show_token(struct market_link *m, const struct options *o)
{
	struct nanopod *np = m->np;
	char expires[CELL_TEXT];
	struct model_token t;
	struct buf url;
	struct rows *r;
	int rc;

	if (wire_token(m->doc, WIRE_WHOLE, &t, &m->fail))
		return market_fail(m, "cannot show the new token");
	if (!t.token)
		return print_fail(np, STATUS_FAILURE, "'nanopod token revoke' revokes it; create another one",
			"cannot show the new token '%s': the market showed it before, and shows it only once", t.id);
	buf_init(&url, BODY_MAX);
	url_with_key(m, &url);
	r = rows_new(np, o, token_columns, &rc);
	if (r) {
		rows_add(r, (const char *[]){ t.token, t.id, cell_time(np, t.expires_at, expires), buf_text(&url) });
		rc = rows_end(r);
		if (!m->socket)
			print_note(np,
				"on the machine that is to join, type: nanopod host join '%s'; it asks for the token, "
				"which is "
				"shown this once and lets one machine in",
				buf_text(&url));
		else
			print_note(np,
				"on the machine that is to join, type: nanopod host join URL, with the market's "
				"https:// address; it "
				"asks for the token, which is shown this once and lets one machine in");
	}
	buf_release(&url);
	return rc;
}

int host_token(struct nanopod *np, const struct options *o, char **words)
{
	static const char *const scopes[] = { "join" };
	struct model_token_new want = { .name = words[0] ? words[0] : "join", .scopes = scopes, .scope_count = 1 };
	const char *account = option_text(o, "account");
	struct market_link *m = NULL;
	struct buf body, path;
	int rc = host_join_read_life(np, o, &want.seconds);

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	if (!rc && wire_put_token(&body, &want))
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot create the token '%s': its name is not valid text",
			want.name);
	if (account ? buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, account) || buf_adds(&path, "/tokens")
		: buf_adds(&path, "/np/v1/tokens"))
		command_nomem();
	if (!rc && !rows_check(np, o, token_columns, &rc))
		goto out;
	rc = rc ? rc : market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "host token");
	if (!rc)
		rc = market_make(m, buf_text(&path), &body, buf_text(&body))
			? market_fail(m, "cannot create a token to join with")
			: show_token(m, o);
out:
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}

/* From the environment, standard input or a hidden line. malloc'd. 0 or an exit status. */
static int take_token(struct nanopod *np, const char *url, char **token)
{
	const char *set = getenv(TOKEN_VARIABLE);
	struct fail f = { 0 };
	char *question;
	int rc = 0;

	*token = NULL;
	if (set && *set) {
		*token = strdup(set);
		if (!*token)
			command_nomem();
	} else if (!np->tty_in) {
		rc = token_read_fd(STDIN_FILENO, "standard input", token, &f);
	} else {
		if (asprintf(&question, "Token to join %s (not shown): ", url) < 0)
			command_nomem();
		prompt_hidden(question, TOKEN_BYTES, token);
		free(question);
	}
	if (!rc && *token && client_check_token_text(*token, &f) == 0)
		return 0;
	if (*token)
		token_free(*token);
	*token = NULL;
	return print_fail(np, STATUS_USAGE,
		"'nanopod host token', where you are signed in, creates one; pass it in " TOKEN_VARIABLE
		" or on standard input",
		"cannot join '%s': %s", url, *f.text ? f.text : "no token was given");
}

/* ---- What was found, and what it would be sold as ------------------------------------------- */

struct joining {
	struct nanopod *np;
	const struct options *o;
	struct host_agentd agentd;
	const char *url;
	char name[NAME_MAX_BYTES], nodes[24];
	struct buf told, text;         /* inventory, as JSON and for people */
	struct doc *inventory;
	const char *type;              /* of --type, or of the market's that fits */
	char *type_found;
	struct model_sizes has;      /* for nodes, as agentd says */
	int64_t room;                /* nodes of the type; -1: unknown */
	bool parts;                  /* nodes may have parts of GPUs, so these need not divide */
	char contract[SKU_CONTRACT]; /* what the type promises; "": unknown */
};

/* Runs agentd with more words and waits for its end. */
static int ask_agentd(struct joining *j, const char *verb, bool json, struct buf *out)
{
	struct host_agentd a = j->agentd;

	host_agentd_add(&a, json ? "--json" : NULL);
	host_agentd_add(&a, verb);
	return host_agentd_run(j->np, &a, NULL, out, LOOK_MS, "cannot list what this machine has");
}

static int host_join_look(struct joining *j)
{
	struct fail f = { 0 };
	int rc = ask_agentd(j, "inventory", true, &j->told);

	rc = rc ? rc : ask_agentd(j, "inventory", false, &j->text);
	if (!rc && doc_parse(buf_text(&j->told), j->told.len, &j->inventory, &f))
		rc = print_fail(j->np, STATUS_FAILURE, NULL, "cannot list what this machine has: %s", f.text);
	if (!rc && wire_capacity(j->inventory, &j->has, &f))
		rc = print_fail(j->np, STATUS_FAILURE, NULL, "cannot list what this machine has: %s", f.text);
	return rc;
}

/* Divides "8x h100 sxm" by the nodes; false where that leaves a rest, or there is nothing to sell. */
static bool gpus_of_node(const struct joining *j, long *gpus)
{
	const char *sold = doc_text(j->inventory, "sold_as");
	long nodes = option_int(j->o, "nodes");

	if (!sold)
		return false;
	*gpus = strtol(sold, NULL, 10);
	if (*gpus % nodes)
		return false;
	*gpus /= nodes;
	return true;
}

static bool host_join_same(const char *a, const char *b)
{
	return a && b && *a && *b && strcasecmp(a, b) == 0;
}

/* Does this machine have all that the type promises? */
static bool sku_is(const struct sku *s, const char *accelerator, const char *form, long gpus)
{
	if ((long)s->gpus != gpus)
		return false;
	if (gpus ? !host_join_same(s->accelerator, accelerator)
		 : s->accelerator && *s->accelerator && !host_join_same(s->accelerator, accelerator))
		return false;
	return !s->form_factor || !*s->form_factor || !form || host_join_same(s->form_factor, form);
}

/* Types of another market do not count. */
static bool signed_in_there(const struct joining *j)
{
	const char *url = settings_text(j->np->settings, SETTING_ID_URL);
	size_t len = strcspn(j->url, "#"), ours = url ? strlen(url) : 0;

	while (len && j->url[len - 1] == '/')
		len--;
	while (ours && url[ours - 1] == '/')
		ours--;
	return url && len == ours && strncmp(url, j->url, len) == 0;
}

/* The type of --type, else the market's only one that fits; NULL: none, or several. */
static const struct sku *pick_type(const struct joining *j, const struct skus *skus)
{
	const char *accelerator = doc_text(j->inventory, "accelerator"), *form = doc_text(j->inventory, "form_factor");
	const struct sku *same = NULL, *found = NULL;
	size_t like = 0, fit = 0;
	long gpus;

	for (size_t i = 0; i < skus->count; i++) {
		const struct sku *s = &skus->list[i];
		int64_t room = host_room_count(&j->has, s);

		if (j->type && (strcmp(s->id, j->type) == 0 || (s->alias && strcmp(s->alias, j->type) == 0)))
			return s;
		if (j->type || !accelerator || !gpus_of_node(j, &gpus) || !sku_is(s, accelerator, form, gpus))
			continue;
		like++;
		same = s;
		if (room < 0 || room >= option_int(j->o, "nodes")) {
			fit++;
			found = s;
		}
	}
	return fit == 1 ? found : fit == 0 && like == 1 ? same : NULL; /* the only one is told why it does not fit */
}

/* Where the market can be asked, finds the type and what it promises. Else --type is required. */
static void find_type(struct joining *j)
{
	const struct sku *found = NULL;
	struct market_link *m = NULL;
	struct skus skus = { 0 };
	FILE *err = j->np->err, *quiet;

	j->parts = j->type && !signed_in_there(j); /* the market tells whether they fit */
	if (!signed_in_there(j))
		return;
	quiet = fopen("/dev/null", "we");
	if (!quiet)
		return;
	j->np->err = quiet; /* it is fine not to be signed in here */
	if (market_sign_in(j->np, j->o, 0, &m) == 0 && skus_load(m, &skus) == 0)
		found = pick_type(j, &skus);
	j->np->err = err;
	fclose(quiet);
	if (found) {
		j->room = host_room_count(&j->has, found);
		sku_contract(found, j->contract);
		j->parts = found->share != NULL;
	}
	if (found && !j->type)
		j->type = j->type_found = strdup(found->alias ? found->alias : found->id);
	skus_release(&skus);
	market_sign_out(m);
}

/* The market would refuse what does not fit: better before anybody joins. */
static int need_room(struct joining *j)
{
	char has[HOST_ROOM], fewer[64];

	if (j->room < 0 || j->room >= option_int(j->o, "nodes") || !host_room_text(&j->has, has))
		return 0;
	snprintf(fewer, sizeof fewer, "try --nodes %" PRId64, j->room);
	return print_fail_field(j->np, STATUS_CONFLICT, "--nodes",
		j->room ? fewer : "'nanopod types' shows what others promise",
		"cannot join '%s': this machine has room for %" PRId64 " node%s of type '%s' (%s): it has %s for nodes",
		j->url, j->room, j->room == 1 ? "" : "s", j->type, j->contract, has);
}

static int need_type(struct joining *j)
{
	const char *sold = doc_text(j->inventory, "sold_as"), *why = doc_text(j->inventory, "not_sold_because");
	long gpus = 0;

	j->type = option_given(j->o, "type") ? option_text(j->o, "type") : NULL;
	if (why)
		return print_fail(j->np, STATUS_CONFLICT, "take out the lesser ones", "cannot join '%s': %s", j->url,
			why);
	find_type(j);
	if (!gpus_of_node(j, &gpus) && !(sold && j->parts))
		return print_fail_field(j->np, STATUS_USAGE, "--nodes", NULL,
			"cannot join '%s': %s does not divide into %ld nodes", j->url, sold ? sold : "it",
			option_int(j->o, "nodes"));
	if (!j->type)
		return print_fail_field(j->np, STATUS_USAGE, "--type",
			"name it by '--type'; 'nanopod types' lists them where you are signed in",
			"cannot find the type of '%s': it would be sold as %s, %ld GPUs per node", j->name,
			sold ? sold : "nothing", gpus);
	return need_room(j);
}

/* ---- Joining ---------------------------------------------------------------------------------- */

static void host_join_show_plan(struct joining *j)
{
	const char *sold = doc_text(j->inventory, "sold_as"), *pin = strchr(j->url, '#'), *line = buf_text(&j->text);
	long nodes = option_int(j->o, "nodes");
	char has[HOST_ROOM];
	bool first = true;
	struct plan p;

	plan_init(&p, "Join '%.*s' as '%s'", (int)strcspn(j->url, "#"), j->url, j->name);
	for (size_t len; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		line += strspn(line, " ");
		len = strcspn(line, "\n");
		if (len && strncmp(line, "sold as", 7) != 0) {
			plan_add(&p, first ? "found" : "", "%.*s", (int)len, line);
			first = false;
		}
	}
	plan_add(&p, "sold as", "%ld node%s of type '%s' (this machine is %s)", nodes, nodes == 1 ? "" : "s", j->type,
		!sold ? "?" : strncmp(sold, "0x", 2) == 0 ? "without GPU" : sold);
	if (host_room_text(&j->has, has))
		plan_add(&p, "for nodes", "%s", has);
	if (*j->contract)
		plan_add(&p, "each node", "%s", j->contract);
	if (j->room >= 0)
		plan_add(&p, "room", "for %" PRId64 " node%s of that type", j->room, j->room == 1 ? "" : "s");
	plan_add(&p, "key", "%s",
		pin ? pin + 1
			: strncasecmp(j->url, "https:", 6) == 0
			? "not pinned: nanopod trusts the system's certificates"
			: "none: the connection is neither encrypted nor authenticated");
	plan_add(&p, "then", "nothing is sold until you set a price with 'nanopod host offer'");
	plan_show(j->np, &p);
	plan_release(&p);
}

static int host_join_join(struct joining *j)
{
	const char *const line[] = { "join", j->url, "--name", j->name, "--type", j->type, "--nodes", j->nodes };
	struct host_agentd a = j->agentd;
	char *token, *env = NULL, what[200];
	struct buf said;
	long gpus;
	int rc = take_token(j->np, j->url, &token);

	if (rc)
		return rc;
	if (asprintf(&env, TOKEN_VARIABLE "=%s", token) < 0)
		command_nomem();
	token_free(token);
	host_agentd_add(&a, j->np->format == FORMAT_JSON ? "--json" : NULL);
	for (size_t i = 0; i < sizeof line / sizeof *line; i++)
		host_agentd_add(&a, line[i]);
	buf_init(&said, HOST_SAID_MAX);
	snprintf(what, sizeof what, "cannot join '%.150s'", j->url);
	rc = host_agentd_run(j->np, &a, (const char *const[]){ env, NULL }, &said, JOIN_MS, what);
	if (!rc)
		fwrite(buf_text(&said), 1, said.len, j->np->out);
	if (!rc)
		print_note(j->np,
			"next: 'nanopod host verify' measures it, run 'nanopod-agentd' as a service, then "
			"'nanopod host offer %s%s -p PRICE%s' puts it on sale",
			j->name, option_int(j->o, "nodes") > 1 ? "-1" : "",
			gpus_of_node(j, &gpus) && !gpus ? " --per node" : "");
	buf_release(&said);
	memset(env, 0, strlen(env));
	free(env);
	return rc;
}

/* Its name: --name, else this machine's name. */
static int host_join_set_name(struct joining *j)
{
	char own[NAME_MAX_BYTES] = "";

	if (!option_given(j->o, "name") && gethostname(own, sizeof own - 1) != 0)
		own[0] = '\0';
	snprintf(j->name, sizeof j->name, "%s", option_given(j->o, "name") ? option_text(j->o, "name") : own);
	snprintf(j->nodes, sizeof j->nodes, "%ld", option_int(j->o, "nodes"));
	if (!*j->name)
		return print_fail_field(j->np, STATUS_USAGE, "--name", "name it by '--name'",
			"cannot join '%s': this machine has no name", j->url);
	return 0;
}

int host_join(struct nanopod *np, const struct options *o, char **words)
{
	struct joining j = { .np = np, .o = o, .url = words[0], .room = -1 };
	struct fail f = { 0 };
	char *plain = strndup(words[0], strcspn(words[0], "#"));
	int rc;

	if (!plain)
		command_nomem();
	rc = client_check_url(plain, &f) ? print_fail(np, STATUS_USAGE, "'nanopod host token' prints the URL to type",
		"cannot join '%.200s': %s", words[0], f.text) : 0;
	free(plain);
	buf_init(&j.told, HOST_SAID_MAX);
	buf_init(&j.text, HOST_SAID_MAX);
	rc = rc ? rc : host_join_set_name(&j);
	rc = rc ? rc : host_agentd_can_ask(np, o, "join");
	rc = rc ? rc : host_agentd_find(np, o, &j.agentd);
	rc = rc ? rc : host_join_look(&j);
	rc = rc ? rc : need_type(&j);
	if (!rc) {
		host_join_show_plan(&j);
		rc = plan_agree(np, o, "Join it?");
		rc = rc ? rc : host_join_join(&j);
	}
	doc_free(j.inventory);
	free(j.type_found);
	buf_release(&j.told);
	buf_release(&j.text);
	host_agentd_release(&j.agentd);
	return rc;
}

/* ---- Leaving ---------------------------------------------------------------------------------- */

int host_leave(struct nanopod *np, const struct options *o, char **words)
{
	struct host_agentd a = { 0 };
	struct plan p;
	int rc = host_agentd_can_ask(np, o, "leave");

	(void)words;
	rc = rc ? rc : host_agentd_find(np, o, &a);
	if (!rc) {
		plan_init(&p, "Take this machine out of its market");
		plan_add(&p, "offers", "is withdrawn, and its hosts are retired");
		plan_add(&p, "sold", "while sold time has not ended the market refuses, and nothing is changed");
		plan_add(&p, "key", "is forgotten: to come back it needs a new token");
		plan_show(np, &p);
		plan_release(&p);
		rc = plan_agree(np, o, "Leave?");
		host_agentd_add(&a, np->format == FORMAT_JSON ? "--json" : NULL);
		host_agentd_add(&a, "leave");
		rc = rc ? rc : host_agentd_run(np, &a, NULL, NULL, JOIN_MS, "cannot leave");
	}
	host_agentd_release(&a);
	return rc;
}
