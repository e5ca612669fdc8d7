/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "marketd/api/render.h"

enum { USAGE = 2, SIGN_IN_DAYS = 30 };

enum opt {
	OPT_DATA = 256,
	OPT_LISTEN,
	OPT_SOCKET,
	OPT_CERT,
	OPT_KEY,
	OPT_NEXT_KEY,
	OPT_NAME,
	OPT_INSECURE,
	OPT_PRIVATE,
	OPT_TEST_CLOCK,
	OPT_SNAPSHOT,
	OPT_LEVEL,
	OPT_AGENT_SILENT,
	OPT_NODE_WAIT,
	OPT_CONNECTIONS,
	OPT_PER_ADDRESS,
	OPT_TRUSTED,
	OPT_RATE,
	OPT_QUOTA,
	OPT_POLICY,
	OPT_OPA,
	OPT_OPA_TOKEN,
	OPT_OPA_BUNDLE,
	OPT_JSON,
	OPT_OUT,
	OPT_WATCH,
	OPT_ISSUER,
	OPT_CLIENT,
	OPT_PAGE_CLIENT,
	OPT_CLIENT_SECRET,
	OPT_ISSUER_CA,
	OPT_GROUPS,
	OPT_ROLES,
	OPT_ADMIN_GROUP,
	OPT_NEW,
	OPT_LIFE,
	OPT_STRIPE_KEY,
	OPT_STRIPE_SECRET,
	OPT_STRIPE_URL,
	OPT_STRIPE_PAYOUTS,
	OPT_PASSPORT_KEY,
	OPT_PASSPORT_SCORER,
	OPT_PASSPORT_URL,
	OPT_PUBLIC_URL,
	OPT_PAYOUT_HOLD,
	OPT_DUNNING,
	OPT_FORCE,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option rows[] = {
	{ "data", required_argument, NULL, OPT_DATA },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "tls-cert", required_argument, NULL, OPT_CERT },
	{ "tls-key", required_argument, NULL, OPT_KEY },
	{ "tls-next-key", required_argument, NULL, OPT_NEXT_KEY },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "insecure", no_argument, NULL, OPT_INSECURE },
	{ "private", no_argument, NULL, OPT_PRIVATE },
	{ "test-clock", optional_argument, NULL, OPT_TEST_CLOCK },
	{ "snapshot-every", required_argument, NULL, OPT_SNAPSHOT },
	{ "log-level", required_argument, NULL, OPT_LEVEL },
	{ "agent-silent", required_argument, NULL, OPT_AGENT_SILENT },
	{ "node-wait", required_argument, NULL, OPT_NODE_WAIT },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "connections-per-address", required_argument, NULL, OPT_PER_ADDRESS },
	{ "trusted-proxy", required_argument, NULL, OPT_TRUSTED },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "quota", required_argument, NULL, OPT_QUOTA },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "opa", required_argument, NULL, OPT_OPA },
	{ "opa-token-file", required_argument, NULL, OPT_OPA_TOKEN },
	{ "opa-bundle", required_argument, NULL, OPT_OPA_BUNDLE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "out", required_argument, NULL, OPT_OUT },
	{ "watch", no_argument, NULL, OPT_WATCH },
	{ "oidc-issuer", required_argument, NULL, OPT_ISSUER },
	{ "oidc-client-id", required_argument, NULL, OPT_CLIENT },
	{ "oidc-page-client-id", required_argument, NULL, OPT_PAGE_CLIENT },
	{ "oidc-client-secret-file", required_argument, NULL, OPT_CLIENT_SECRET },
	{ "oidc-ca", required_argument, NULL, OPT_ISSUER_CA },
	{ "oidc-groups", required_argument, NULL, OPT_GROUPS },
	{ "oidc-roles", required_argument, NULL, OPT_ROLES },
	{ "oidc-admin-group", required_argument, NULL, OPT_ADMIN_GROUP },
	{ "oidc-new", required_argument, NULL, OPT_NEW },
	{ "sign-in-days", required_argument, NULL, OPT_LIFE },
	{ "stripe-key-file", required_argument, NULL, OPT_STRIPE_KEY },
	{ "stripe-webhook-secret-file", required_argument, NULL, OPT_STRIPE_SECRET },
	{ "stripe-payouts", no_argument, NULL, OPT_STRIPE_PAYOUTS },
	{ "stripe-url", required_argument, NULL, OPT_STRIPE_URL },
	{ "passport-key-file", required_argument, NULL, OPT_PASSPORT_KEY },
	{ "passport-scorer", required_argument, NULL, OPT_PASSPORT_SCORER },
	{ "passport-url", required_argument, NULL, OPT_PASSPORT_URL },
	{ "payout-hold", required_argument, NULL, OPT_PAYOUT_HOLD },
	{ "dunning", required_argument, NULL, OPT_DUNNING },
	{ "public-url", required_argument, NULL, OPT_PUBLIC_URL },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
	"Usage: nanopod-marketd [options]\n"
	"       nanopod-marketd check [--data DIR] [BACKUP]\n"
	"       nanopod-marketd migrate [--data DIR]\n"
	"       nanopod-marketd backup|restore [--data DIR] [--force] FILE\n"
	"       nanopod-marketd policy check|test [--policy RULES] [--json] FILE\n"
	"       nanopod-marketd gateway nginx|apisix [--out CONF] [--watch] FILE\n"
	"       nanopod-marketd gateway serve FILE\n"
	"\n"
	"Run a market in the foreground: SF Compute's API and nanopod's own, over HTTP.\n"
	"\n"
	"  --data DIR          folder of the market (default: " OPTIONS_DATA ")\n"
	"  --listen ADDR:PORT  listen here; repeatable; port 0: any (default: " OPTIONS_LISTEN ")\n"
	"  --socket PATH       unix socket for the operator (default: DIR/socket)\n"
	"  --tls-cert FILE     certificates in PEM; SIGHUP reads both files again\n"
	"  --tls-key FILE      key in PEM\n"
	"  --tls-next-key FILE the next key or certificate, which agents that pin the key hear of\n"
	"  --insecure          allow a public address without TLS, behind a proxy with TLS\n"
	"  --private           show what is for sale to customers alone: no page, and no prices without a token\n"
	"  --name NAME         the market's name (default: nanopod)\n"
	"  --connections N     up to N connections (default: 4096)\n"
	"  --connections-per-address N\n"
	"                      up to N of them from one address, without agents (default: 256)\n"
	"  --trusted-proxy ADDR[/BITS]\n"
	"                      a proxy whose X-Forwarded-For says who its clients are; repeatable\n"
	"  --rate N            requests per second and account; 0: no limit (default: 1000)\n"
	"  --quota [ACCOUNT:]NAME=N\n"
	"                      how much one account may take; repeatable; 0: no limit; the manual has the names\n"
	"  --policy RULES      rules that say who may buy at what price; SIGHUP reads them again (default: none)\n"
	"  --opa URL|unix:PATH Open Policy Agent that decides instead; where it fails, the market denies\n"
	"  --opa-token-file FILE\n"
	"                      the token that the market and the agent show each other\n"
	"  --opa-bundle DIR    rules in Rego that the agent fetches from here; SIGHUP reads both again\n"
	"  --agent-silent N    seconds until a host with a silent agent is down (default: 45)\n"
	"  --node-wait N       seconds until a host whose node does not run is down (default: 180)\n"
	"  --oidc-issuer URL   people sign in with this issuer of identities, by OpenID Connect\n"
	"  --oidc-client-id ID the market's own name there\n"
	"  --oidc-page-client-id ID\n"
	"                      the name of the market's page there, if it has its own\n"
	"  --oidc-client-secret-file FILE\n"
	"                      the page's secret there, unless it is a public client\n"
	"  --oidc-ca FILE      authorities in PEM that sign the issuer's certificate\n"
	"  --oidc-groups CLAIM where the issuer's tokens name a person's groups, with --oidc-roles\n"
	"  --oidc-roles LIST   roles by group: GROUP=ROLE,…\n"
	"  --oidc-admin-group GROUP\n"
	"                      people of this group are operators of the market, with --oidc-groups\n"
	"  --oidc-new WHO      a first sign-in: invited, or account, which makes one (default: invited)\n"
	"  --sign-in-days N    days that a person stays signed in (default: 30)\n"
	"  --stripe-key-file FILE\n"
	"                      people pay for their accounts by Stripe; FILE has the market's secret key there\n"
	"  --stripe-webhook-secret-file FILE\n"
	"                      secrets of the webhook, one a line; SIGHUP reads both files again\n"
	"  --stripe-payouts    send payouts to sellers by Stripe Connect\n"
	"  --stripe-url URL    ask this server instead of Stripe's (default: " CHECKOUT_STRIPE ")\n"
	"  --passport-key-file FILE\n"
	"                      ask Human Passport for scores of addresses; FILE has the market's key there\n"
	"  --passport-scorer ID\n"
	"                      the market's scorer there\n"
	"  --passport-url URL  ask this server instead of Human Passport's (default: " PASSPORT_URL ")\n"
	"  --payout-hold HOURS sellers are paid out what they earned so long ago; 0: at once (default: 168)\n"
	"  --dunning DAYS,DAYS,DAYS\n"
	"                      days of debt until a reminder, the last one, a suspension (default: never)\n"
	"  --public-url URL    where people reach the market (default: the first address of --listen)\n"
	"  --snapshot-every N  a snapshot every N events; 0: only at the end (default: 100000)\n"
	"  --test-clock[=UNIX] for tests: the clock stands still until it is set\n"
	"  --log-level LEVEL   error, warn, info or debug (default: info)\n"
	"  --json              policy test: print each vector as a line of JSON\n"
	"  --out CONF          gateway: replace this file (default: print it)\n"
	"  --watch             gateway: replace it again as nodes of reservations come and go\n"
	"  --force             restore: replace an existing market\n"
	"  --help, --version\n"
	"\n"
	"Once it runs, make a first account and a token for it:\n"
	"  export NANOPOD_URL=unix:DIR/socket\n"
	"  nanopod admin account add acme\n"
	"  nanopod admin token acme laptop\n";

static int options_complain(const char *name, const char *value, const char *forms)
{
	fprintf(stderr, "nanopod-marketd: invalid '--%s %s'; give %s\n", name, value, forms);
	return USAGE;
}

static int options_read_number(const char *name, const char *text, long min, long max, long *out)
{
	char forms[80];

	snprintf(forms, sizeof forms, "a whole number from %ld to %ld", min, max);
	return str_to_long(text, min, max, out) == 0 ? -1 : options_complain(name, text, forms);
}

static int read_listen(struct options *o, const char *text)
{
	if (o->listen_count == OPTIONS_LISTEN_MAX)
		return options_complain("listen", text, "up to eight addresses");
	o->listen[o->listen_count++] = text;
	return -1;
}

static int read_trusted(struct options *o, const char *text)
{
	if (o->trusted.count == TRUSTED_MAX)
		return options_complain("trusted-proxy", text, "up to 16 of them");
	if (!trusted_read(text, &o->trusted.nets[o->trusted.count]))
		return options_complain("trusted-proxy", text, "an address or a network, e.g. 10.0.0.1 or 10.0.0.0/24");
	o->trusted.count++;
	return -1;
}

static int read_quota(struct options *o, const char *text)
{
	if (o->quota_count == QUOTA_ROWS)
		return options_complain("quota", text, "up to 64 of them");
	if (!quota_read(text, &o->quotas[o->quota_count]))
		return options_complain("quota", text, "[ACCOUNT:]NAME=N, e.g. pools=5000 or acme:text=1024");
	o->quota_count++;
	return -1;
}

static int read_oidc(struct options *o, int opt, const char *text)
{
	switch (opt) {
	case OPT_ISSUER:
		o->issuer.url = text;
		return issuer_url_valid(text)
			? -1
			: options_complain("oidc-issuer", text, "https://…, or http://127.0.0.1… on this machine");
	case OPT_CLIENT:
		o->issuer.client = text;
		return -1;
	case OPT_PAGE_CLIENT:
		o->issuer.page = text;
		return -1;
	case OPT_CLIENT_SECRET:
		o->issuer.secret = text;
		return -1;
	case OPT_ISSUER_CA:
		o->issuer.ca = text;
		return -1;
	case OPT_GROUPS:
		o->signin.groups = text;
		return -1;
	case OPT_ADMIN_GROUP:
		o->signin.admin = text;
		return -1;
	case OPT_ROLES:
		o->signin.roles = text;
		return options_roles_valid(text)
			? -1
			: options_complain("oidc-roles", text,
				  "GROUP=ROLE,… with owner, buyer, provider, viewer or billing");
	default:
		o->signin.accounts = strcmp(text, "account") == 0;
		return o->signin.accounts || strcmp(text, "invited") == 0
			? -1
			: options_complain("oidc-new", text, "invited or account");
	}
}

static int read_stripe(struct options *o, int opt, const char *text)
{
	if (opt == OPT_STRIPE_KEY)
		o->stripe.key_file = text;
	else if (opt == OPT_STRIPE_SECRET)
		o->stripe.secret_file = text;
	else if (stripe_url_valid(text))
		o->stripe.url = text;
	else
		return options_complain("stripe-url", text, "https://…, or http://127.0.0.1… on this machine");
	return -1;
}

static int read_passport(struct options *o, int opt, const char *text)
{
	if (opt == OPT_PASSPORT_KEY) {
		o->passport.key_file = text;
		return -1;
	}
	if (opt == OPT_PASSPORT_SCORER) {
		o->passport.scorer = text;
		return passport_scorer_valid(text)
			? -1
			: options_complain("passport-scorer", text, "the id of a scorer: letters, digits, '-' and '_'");
	}
	o->passport.url = text;
	return stripe_url_valid(text)
		? -1
		: options_complain("passport-url", text, "https://…, or http://127.0.0.1… on this machine");
}

static int read_number_option(struct options *o, int opt, const char *text)
{
	long n = 0;
	int rc;

	switch (opt) {
	case OPT_SNAPSHOT:
		return options_read_number("snapshot-every", text, 0, 1000000000, &o->snapshot_every);
	case OPT_AGENT_SILENT:
		return options_read_number("agent-silent", text, 1, 86400, &o->agent_silent);
	case OPT_PAYOUT_HOLD:
		return options_read_number("payout-hold", text, 0, PAYOUT_HOLD_MAX, &o->payout_hold);
	case OPT_DUNNING:
		return options_dunning_read(text, o->dunning)
			? -1
			: options_complain("dunning", text,
				  "three numbers of days, each above the one before: 7,14,30");
	case OPT_NODE_WAIT:
		return options_read_number("node-wait", text, 1, 86400, &o->node_wait);
	case OPT_CONNECTIONS:
		return options_read_number("connections", text, 1, 60000, &o->connections);
	case OPT_PER_ADDRESS:
		return options_read_number("connections-per-address", text, 1, 60000, &o->connections_per_address);
	case OPT_RATE:
		rc = options_read_number("rate", text, 0, 1000000, &o->rate);
		if (o->rate == 0)
			o->rate = -1;
		return rc;
	case OPT_LIFE:
		rc = options_read_number("sign-in-days", text, 1, 3650, &n);
		o->signin.life = n * 86400;
		return rc;
	case OPT_TEST_CLOCK:
		o->test_clock = true;
		rc = text ? options_read_number("test-clock", text, 1, 16000000000, &n) : -1;
		o->test_start = n;
		return rc;
	default:
		return USAGE;
	}
}

static int read_path(struct options *o, int opt, const char *text)
{
	switch (opt) {
	case OPT_KEY:
		o->tls_key = text;
		break;
	case OPT_NEXT_KEY:
		o->tls_next = text;
		break;
	case OPT_POLICY:
		o->policy = text;
		break;
	case OPT_OPA:
		o->opa.where = text;
		break;
	case OPT_OPA_TOKEN:
		o->opa.token_file = text;
		break;
	case OPT_OPA_BUNDLE:
		o->opa.bundle = text;
		break;
	default:
		o->out = text;
	}
	return -1;
}

static int options_flag(struct options *o, int opt)
{
	*(opt == OPT_INSECURE                       ? &o->insecure
			: opt == OPT_PRIVATE        ? &o->private_book
			: opt == OPT_FORCE          ? &o->force
			: opt == OPT_STRIPE_PAYOUTS ? &o->stripe.payouts
			: opt == OPT_WATCH          ? &o->watch
						    : &o->json) = true;
	return -1;
}

static int read_level(struct options *o, const char *text)
{
	return log_level_read(text, &o->level) ? -1 : options_complain("log-level", text, "error, warn, info or debug");
}

static int read_option(struct options *o, int opt, const char *text)
{
	switch (opt) {
	case OPT_DATA: o->data = text; return -1;
	case OPT_LISTEN: return read_listen(o, text);
	case OPT_TRUSTED:
		return read_trusted(o, text);
	case OPT_QUOTA:
		return read_quota(o, text);
	case OPT_SOCKET: o->socket = text; return -1;
	case OPT_CERT:
		o->tls_cert = text;
		return -1;
	case OPT_NAME: o->name = text; return -1;
	case OPT_INSECURE:
	case OPT_PRIVATE:
	case OPT_FORCE:
	case OPT_STRIPE_PAYOUTS:
	case OPT_JSON:
	case OPT_WATCH:
		return options_flag(o, opt);
	case OPT_KEY:
	case OPT_NEXT_KEY:
	case OPT_POLICY:
	case OPT_OPA:
	case OPT_OPA_TOKEN:
	case OPT_OPA_BUNDLE:
	case OPT_OUT:
		return read_path(o, opt, text);
	case OPT_ISSUER:
	case OPT_CLIENT:
	case OPT_PAGE_CLIENT:
	case OPT_CLIENT_SECRET:
	case OPT_ISSUER_CA:
	case OPT_GROUPS:
	case OPT_ROLES:
	case OPT_ADMIN_GROUP:
	case OPT_NEW:
		return read_oidc(o, opt, text);
	case OPT_STRIPE_KEY:
	case OPT_STRIPE_SECRET:
	case OPT_STRIPE_URL:
		return read_stripe(o, opt, text);
	case OPT_PASSPORT_KEY:
	case OPT_PASSPORT_SCORER:
	case OPT_PASSPORT_URL:
		return read_passport(o, opt, text);
	case OPT_PUBLIC_URL:
		o->public_url = text;
		return options_url_valid(text)
			? -1
			: options_complain("public-url", text, "https://HOST, as people type it");
	case OPT_LEVEL:
		return read_level(o, text);
	case OPT_HELP: fputs(help, stdout); return fflush(stdout) != 0;
	case OPT_VERSION: puts("nanopod-marketd " PACKAGE_VERSION); return fflush(stdout) != 0;
	case '?':
		fputs("nanopod-marketd: see 'nanopod-marketd --help'\n", stderr);
		return USAGE;
	default: return read_number_option(o, opt, text);
	}
}

/* Verbs that do something with another file. */
static const struct options_verb {
	const char *name, *actions[3]; /* of which one comes next; NULL: none does */
	bool file, optional;
} options_verbs[] = {
	{ "check", { NULL }, true, true },
	{ "migrate", { NULL }, false, false },
	{ "backup", { NULL }, true, false },
	{ "restore", { NULL }, true, false },
	{ "policy", { "check", "test" }, true, false },
	{ "gateway", { "nginx", "apisix", "serve" }, true, false },
};

static const struct options_verb *options_verb(const char *name)
{
	for (size_t i = 0; i < sizeof options_verbs / sizeof *options_verbs; i++)
		if (strcmp(options_verbs[i].name, name) == 0)
			return &options_verbs[i];
	fprintf(stderr,
		"nanopod-marketd: unknown command '%s'; use check, backup, restore, migrate, policy or gateway\n",
		name);
	return NULL;
}

static int options_read_action(struct options *o, const struct options_verb *v, int argc, char **argv)
{
	const char *word = optind < argc ? argv[optind++] : "";

	for (size_t i = 0; i < sizeof v->actions / sizeof *v->actions && v->actions[i]; i++)
		if (strcmp(word, v->actions[i]) == 0) {
			o->action = word;
			return -1;
		}
	fprintf(stderr, "nanopod-marketd: %s needs '%s'%s%s%s or '%s'\n", v->name, v->actions[0],
		v->actions[2] ? ", '" : "", v->actions[2] ? v->actions[1] : "", v->actions[2] ? "'" : "",
		v->actions[2] ? v->actions[2] : v->actions[1]);
	return USAGE;
}

/* The words without dashes: a verb, and the file that it takes. */
static int options_read_words(struct options *o, int argc, char **argv)
{
	const struct options_verb *v = optind < argc ? options_verb(argv[optind]) : NULL;

	if (optind < argc && !v)
		return USAGE;
	if (v) {
		o->verb = argv[optind++];
		if (v->actions[0] && options_read_action(o, v, argc, argv) >= 0)
			return USAGE;
		if (v->file && optind < argc)
			o->path = argv[optind++];
	}
	if (optind < argc) {
		fprintf(stderr, "nanopod-marketd: unexpected argument '%s'\n", argv[optind]);
		return USAGE;
	}
	if (v && v->file && !v->optional && !o->path) {
		fprintf(stderr, "nanopod-marketd: %s needs a file, e.g. nanopod-marketd %s %s FILE\n", o->verb, o->verb,
			o->action ? o->action : "--data DIR");
		return USAGE;
	}
	return -1;
}

static int options_refuse(const char *why)
{
	fprintf(stderr, "nanopod-marketd: %s\n", why);
	return USAGE;
}

static int check_together(struct options *o)
{
	if (!o->tls_cert != !o->tls_key)
		return options_refuse("give both --tls-cert and --tls-key");
	if (o->watch && !o->out)
		return options_refuse("--watch needs --out CONF, the file to replace");
	if (o->opa.where && o->policy)
		return options_refuse("give --policy or --opa, not both");
	if (o->opa.token_file && !o->opa.where && !o->opa.bundle)
		return options_refuse("--opa-token-file needs --opa or --opa-bundle");
	if (o->tls_next && !o->tls_cert)
		return options_refuse("--tls-next-key needs --tls-cert and --tls-key");
	if (!o->issuer.url != !o->issuer.client ||
		(!o->issuer.url && (o->issuer.ca || o->issuer.page || o->issuer.secret || o->signin.accounts)))
		return options_refuse("give both --oidc-issuer and --oidc-client-id");
	if (!o->signin.groups != !(o->signin.roles || o->signin.admin))
		return options_refuse("give --oidc-groups together with --oidc-roles or --oidc-admin-group");
	if (!o->stripe.key_file != !o->stripe.secret_file || (o->stripe.payouts && !o->stripe.key_file))
		return options_refuse("give both --stripe-key-file and --stripe-webhook-secret-file");
	if (!o->passport.key_file != !o->passport.scorer)
		return options_refuse("give both --passport-key-file and --passport-scorer");
	if (o->passport.key_file && !o->public_url)
		return options_refuse("--passport-key-file needs --public-url URL, which people sign");
	if (!*o->name || strlen(o->name) > 100)
		return options_refuse("--name needs 1 to 100 bytes");
	if (strlen(o->data) + 32 > sizeof o->database) {
		fputs("nanopod-marketd: the path of --data is too long\n", stderr);
		return USAGE;
	}
	snprintf(o->database, sizeof o->database, "%s/market.db", o->data);
	snprintf(o->issuer_kept, sizeof o->issuer_kept, "%s/issuer.json", o->data);
	o->issuer.kept = o->issuer_kept;
	snprintf(o->decisions, sizeof o->decisions, "%s/decisions.jsonl", o->data);
	o->opa.decisions = o->decisions;
	snprintf(o->socket_room, sizeof o->socket_room, "%s/socket", o->data);
	if (!o->socket)
		o->socket = o->socket_room;
	if (!o->listen_count)
		o->listen[o->listen_count++] = OPTIONS_LISTEN;
	return -1;
}

int options_read(struct options *o, int argc, char **argv)
{
	int opt, rc = -1;

	memset(o, 0, sizeof *o);
	o->data = OPTIONS_DATA;
	o->name = "nanopod";
	o->level = LOG_INFO;
	o->signin.life = SIGN_IN_DAYS * 86400;
	o->payout_hold = 168; /* a week */
	o->stripe.url = CHECKOUT_STRIPE;
	o->passport.url = PASSPORT_URL;
	o->snapshot_every = -1;
	while (rc < 0 && (opt = getopt_long(argc, argv, "", rows, NULL)) != -1)
		rc = read_option(o, opt, optarg);
	rc = rc < 0 ? options_read_words(o, argc, argv) : rc;
	return rc < 0 ? check_together(o) : rc;
}
