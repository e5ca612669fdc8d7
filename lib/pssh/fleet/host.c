/* SPDX-License-Identifier: Apache-2.0 */
/* From the name that a person gives a host to the plan for its next connection. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "pssh/fleet/fleet.h"

enum { JUMPS = 8, LANES = 16 };

/* ---- The name ---- */

static int bad_spec(struct fail *f, const char *spec, const char *why)
{
	return fail_set(f, PSSH_ESYNTAX,
		"'%.200s' is not a host: %s; forms are name, user@name, name:port, [address]:port and "
		"ssh://user@name:port",
		spec, why);
}

/* Refuses characters that would make a name an option, a path or several words on a command line. */
static bool host_safe_name(const char *s)
{
	if (*s == '-')
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f || strchr("'\"`$\\;&|<>(){}!*?~#", *s))
			return false;
	return true;
}

static int spec_port(struct pssh_host *h, const char *spec, const char *text, struct fail *f)
{
	long port;

	if (str_to_long(text, 1, 65535, &port) != 0)
		return bad_spec(f, spec, "a port is a number from 1 to 65535");
	h->spec_port = (unsigned)port;
	return 0;
}

static int parse_spec(struct pssh_host *h, const char *spec, struct fail *f)
{
	const char *at, *name = str_starts(spec, "ssh://") ? spec + 6 : spec, *colon;
	size_t len;
	int rc = 0;

	at = strrchr(name, '@');
	if (at) {
		h->spec_user = strndup(name, (size_t)(at - name));
		if (!h->spec_user)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		name = at + 1;
	}
	len = strlen(name);
	if (name != spec && len && name[len - 1] == '/' && str_starts(spec, "ssh://"))
		len--;
	if (name[0] == '[') {
		const char *end = strchr(name, ']');

		if (!end || (end[1] && end[1] != ':'))
			return bad_spec(f, spec, "its bracket is not closed");
		if (end[1])
			rc = spec_port(h, spec, end + 2, f);
		name++;
		len = (size_t)(end - name);
	} else if ((colon = memchr(name, ':', len)) && !memchr(colon + 1, ':', len - (size_t)(colon + 1 - name))) {
		char *port = strndup(colon + 1, len - (size_t)(colon + 1 - name));

		rc = port ? spec_port(h, spec, port, f) : PSSH_ENOMEM;
		free(port);
		len = (size_t)(colon - name);
	}
	if (rc)
		return rc;
	h->alias = strndup(name, len);
	if (!h->alias)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	if (!*h->alias || strlen(h->alias) > 1024 || !host_safe_name(h->alias) ||
		(h->spec_user && (!*h->spec_user || *h->spec_user == '-')))
		return bad_spec(f, spec, "a name has letters, digits, dots, dashes and the like");
	return 0;
}

void host_free(struct pssh_host *h)
{
	size_t n = 0;

	if (h->given_fd >= 0)
		close(h->given_fd);
	for (char **s = h->plan_identities; s && *s; s++)
		n++;
	strings_free(&h->plan_identities, &n);
	for (n = 0; h->env && h->env[n];)
		n++;
	strings_free(&h->env, &n);
	strings_free(&h->identities, &h->identity_count);
	for (size_t i = 0; i < h->pin_count; i++)
		knownhosts_pin_release(&h->pins[i]);
	free(h->pins);
	free(h->key_text);
	free(h->streams);
	for (int i = 0; i < PSSH_ALGS; i++)
		free(h->plan_algorithms[i]);
	if (h->config)
		sshconfig_answer_release(h->config);
	free(h->config);
	free(h->config_fail);
	free(h->facts);
	free(h->plan_proxy);
	free(h->plan_user);
	free(h->spec);
	free(h->alias);
	free(h->spec_user);
	free(h->address);
	free(h->user);
	free(h->jump);
	free(h->proxy);
	free(h);
}

static void tell_warnings(struct pssh_host *h)
{
	for (size_t i = 0; h->config && i < h->config->warning_count; i++) {
		struct sshconfig_warning *w = h->config->warnings[i];

		if (!w->told)
			log_at(&h->fleet->shared.log, LOG_WARN, "%s:%u: %s: %s", w->file, w->line, w->keyword, w->why);
		w->told = true;
	}
}

/* Warns of settings that ssh would honour and we cannot, once for a fleet instead of for each host. */
static void tell_unused(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;
	const struct {
		bool set;
		const char *text;
	} unused[] = {
		{ c->certificate_files && *c->certificate_files,
			"CertificateFile: only the certificate beside an identity file (…-cert.pub) is used" },
		{ c->bind_interface, "BindInterface has no effect; BindAddress has" },
		{ c->compression == 1, "Compression has no effect" },
		{ c->pubkey_algorithms, "PubkeyAcceptedAlgorithms has no effect" },
		{ c->forward_agent == 1 && !chan_can_forward(), "ForwardAgent has no effect; 'ssh -A' has" },
		{ c->remote_command, "RemoteCommand has no effect" },
	};

	for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
		if (unused[i].set && !(h->fleet->told & 1u << i)) {
			h->fleet->told |= 1u << i;
			log_at(&h->fleet->shared.log, LOG_WARN, "'%s': %s", h->alias, unused[i].text);
		}
	}
}

static int host_configure(struct pssh_host *h)
{
	struct fail f = { 0 };
	int rc;

	if (!h->fleet->config)
		return 0;
	h->config = calloc(1, sizeof *h->config);
	if (!h->config)
		return PSSH_ENOMEM;
	rc = sshconfig_find(h->fleet->config, h->alias, h->spec_user, h->spec_port, h->config, &f);
	if (rc) {
		free(h->config);
		h->config = NULL;
		h->config_fail = malloc(sizeof f);
		if (!h->config_fail)
			return PSSH_ENOMEM;
		*h->config_fail = f;
		h->config_fail->code = rc;
		return 0; /* reported when it connects, so that other hosts still work */
	}
	tell_warnings(h);
	tell_unused(h);
	return host_environment(h);
}

int host_new(struct pssh *p, const char *spec, struct pssh_host **out)
{
	struct pssh_host *h = calloc(1, sizeof *h);
	int rc = PSSH_ENOMEM;

	if (!h)
		return fail_set(&p->why, rc, "out of memory");
	h->fleet = p;
	h->given_fd = -1;
	list_init(&h->in_hosts);
	list_init(&h->in_waiting);
	list_init(&h->in_idle);
	list_init(&h->runs);
	h->timer.kind = KIND_HOST;
	h->spec = strdup(spec);
	if (h->spec)
		rc = parse_spec(h, spec, &p->why);
	if (!rc)
		rc = host_configure(h);
	if (rc == PSSH_ENOMEM)
		fail_set(&p->why, rc, "out of memory");
	if (rc)
		host_free(h);
	else
		*out = h;
	return rc;
}

static int host_keep(struct pssh *p, const char *key, const char *spec, struct pssh_host **out)
{
	struct pssh_host *h = table_get(&p->hosts, key);
	int rc;

	if (!h) {
		rc = host_new(p, spec, &h);
		if (rc)
			return rc;
		if (table_set(&p->hosts, key, h) != 0) {
			host_free(h);
			return fail_set(&p->why, PSSH_ENOMEM, "out of memory");
		}
		list_append(&p->host_list, &h->in_hosts);
	}
	*out = h;
	return 0;
}

int host_find(struct pssh *p, const char *spec, struct pssh_host **out)
{
	return host_keep(p, spec, spec, out);
}

static bool host_is_clogged(const struct pssh_host *h)
{
	return h->conn && h->conn->state == CONN_READY && link_clogged(&h->conn->link);
}

int host_find_jump(struct pssh_host *from, const char *jumps, struct pssh_host **out, struct fail *f)
{
	const char *comma = strrchr(jumps, ','), *last = comma ? comma + 1 : jumps;
	struct pssh_host *h = NULL;
	unsigned depth = from->depth;
	struct buf key;
	int rc = 0;

	if (depth >= JUMPS)
		return fail_set(f, PSSH_EINVAL, "more than %d jump hosts in a row; do they form a circle?", JUMPS);
	/* A jump host and the same host as a target are two hosts, with a connection each. */
	buf_init(&key, 65536);
	/* If a jump host is stuck with one target, the others use another connection to it. */
	for (unsigned lane = 0; lane < LANES && !rc && (!h || host_is_clogged(h)); lane++) {
		buf_clear(&key);
		rc = buf_addf(&key, "jump %u %s %u", depth, jumps, from->stream * LANES + lane);
		if (!rc)
			rc = host_keep(from->fleet, buf_text(&key), last, &h);
	}
	buf_release(&key);
	if (rc || !h)
		return fail_set(f, rc == PSSH_ESYNTAX ? rc : PSSH_ENOMEM, "the jump host '%s' is not a host", last);
	/* It would read the same answers of the configuration. */
	if (!from->jump && !from->user && !from->spec_user && strcmp(jumps, from->alias) == 0)
		return fail_set(f, PSSH_EINVAL,
			"the configuration makes '%s' its own jump host; it needs 'ProxyJump none'", from->alias);
	h->depth = depth + 1;
	h->stream = from->stream;
	if (comma && !h->jump) {
		h->jump = strndup(jumps, (size_t)(comma - jumps));
		if (!h->jump)
			return fail_set(f, PSSH_ENOMEM, "out of memory");
	}
	*out = h;
	return 0;
}

/* ---- The plan ---- */

static const char *host_or(const char *a, const char *b)
{
	return a ? a : b;
}

static const char *local_user(char *room, size_t size)
{
	struct passwd pw, *found = NULL;

	return getpwuid_r(getuid(), &pw, room, size, &found) == 0 && found ? found->pw_name : "root";
}

static bool host_is_none(const char *s)
{
	return s && strcmp(s, "none") == 0;
}

static int plan_algorithms(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;
	const char *raw[PSSH_ALGS] = {
		[PSSH_ALG_KEX] = c ? c->kex : NULL, [PSSH_ALG_HOSTKEY] = c ? c->hostkeys : NULL,
		[PSSH_ALG_CIPHER] = c ? c->ciphers : NULL, [PSSH_ALG_MAC] = c ? c->macs : NULL,
	};

	for (int i = 0; i < PSSH_ALGS; i++) {
		free(h->plan_algorithms[i]);
		h->plan_algorithms[i] = NULL;
		h->plan.algorithms[i] = h->fleet->algorithms[i];
		if (raw[i]) {
			h->plan_algorithms[i] = algorithms_apply(h->fleet->algorithms[i], raw[i]);
			if (!h->plan_algorithms[i])
				return PSSH_ENOMEM;
			h->plan.algorithms[i] = h->plan_algorithms[i];
		}
	}
	return 0;
}

static int host_add_all(char ***list, size_t *n, char *const *more)
{
	int rc = 0;

	for (; more && *more && !rc; more++)
		rc = strings_add(list, n, *more);
	return rc;
}

/* Key files: those of the caller for this host, then the configuration's, then the fleet's. */
static int plan_identities(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	size_t n = 0;
	int rc;

	for (char **s = h->plan_identities; s && *s; s++)
		n++;
	strings_free(&h->plan_identities, &n);
	rc = host_add_all(&h->plan_identities, &n, h->identities);
	if (!rc && h->config)
		rc = host_add_all(&h->plan_identities, &n, h->config->identity_files);
	if (!rc)
		rc = host_add_all(&h->plan_identities, &n, p->identities);
	if (!rc)
		h->plan.auth.identities = h->plan_identities;
	return rc;
}

/* Hosts with the same list of files share one set of known keys. */
static int plan_known(struct pssh_host *h)
{
	struct pssh *p = h->fleet;
	char **files = NULL;
	size_t n = 0;
	struct buf key;
	struct knownhosts *k;
	struct fail f = { 0 };
	int rc;

	buf_init(&key, 1 << 20);
	rc = host_add_all(&files, &n,
		h->config && h->config->user_known_hosts ? h->config->user_known_hosts : p->known_files);
	if (!rc && h->config)
		rc = host_add_all(&files, &n, h->config->global_known_hosts);
	for (size_t i = 0; i < n && !rc; i++)
		rc = buf_addf(&key, "%s\n", files[i]) ? PSSH_ENOMEM : 0;
	k = rc ? NULL : table_get(&p->known, buf_text(&key));
	if (!rc && !k) {
		rc = knownhosts_new(&k);
		for (size_t i = 0; i < n && !rc; i++) {
			const char *broken;

			if (knownhosts_add_file(k, files[i], &f) != 0)
				log_at(&p->shared.log, LOG_WARN, "%s", f.text);
			if (i + 1 == n && knownhosts_broken(k, &broken))
				log_at(&p->shared.log, LOG_WARN, "skipped a line of the known hosts: %s", broken);
		}
		for (size_t i = 0; i < p->known_text_count && !rc; i++)
			rc = knownhosts_parse(k, p->known_texts[i], strlen(p->known_texts[i]), "memory");
		if (!rc && table_set(&p->known, buf_text(&key), k) != 0)
			rc = PSSH_ENOMEM;
		if (rc)
			knownhosts_free(k);
	}
	if (!rc)
		h->plan.hostkey.known = k;
	strings_free(&files, &n);
	buf_release(&key);
	return rc;
}

static void plan_hostkey(struct pssh_host *h)
{
	struct hostkey_rule *rule = &h->plan.hostkey;
	const struct sshconfig_answer *c = h->config;
	bool chosen = h->fleet->policy_chosen;

	rule->host = c && c->host_key_alias ? c->host_key_alias : h->address ? h->alias : h->plan.address;
	rule->port = c && c->host_key_alias ? 22 : h->plan.port;
	rule->pins = h->pins;
	rule->pin_count = h->pin_count;
	rule->policy = h->fleet->policy;
	rule->hashed = c && c->hash_known_hosts == 1;
	if (!chosen && c && (c->strict == SSHCONFIG_STRICT_ACCEPT_NEW || c->strict == SSHCONFIG_STRICT_NO))
		rule->policy = PSSH_HOSTKEYS_ACCEPT_NEW;
	if (!chosen && c && c->strict == SSHCONFIG_STRICT_YES)
		rule->policy = PSSH_HOSTKEYS_STRICT;
	if (h->stream && h->pin_count) /* the first connection has written down what there is to remember */
		rule->policy = PSSH_HOSTKEYS_STRICT;
}

void host_plan_keepalive(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;

	h->keepalive = h->fleet->keepalive;
	h->missed = 3;
	if (c && !h->keepalive && c->server_alive_interval > 0)
		h->keepalive = (unsigned)(c->server_alive_interval < 2 ? 2 : c->server_alive_interval) * 1000;
	if (c && c->server_alive_count_max > 0)
		h->missed = (unsigned)c->server_alive_count_max;
}

static void plan_deadlines(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;

	memcpy(h->plan.deadline, h->fleet->deadline, sizeof h->plan.deadline);
	if (h->stream)
		h->plan.deadline[PSSH_PHASE_IDLE] = STREAM_IDLE_MS;
	h->tries = h->fleet->tries;
	if (c && c->connect_timeout > 0) {
		h->plan.deadline[PSSH_PHASE_CONNECT] = (unsigned)c->connect_timeout * 1000;
		h->plan.deadline[PSSH_PHASE_HANDSHAKE] = (unsigned)c->connect_timeout * 1000;
	}
	host_plan_keepalive(h);
	if (c && c->connection_attempts > 0 && (unsigned)c->connection_attempts > h->tries)
		h->tries = (unsigned)c->connection_attempts;
}

/* Like ssh: characters that a user's name must not have, as it becomes part of a shell command. */
static bool safe_user(const char *s)
{
	size_t len = strlen(s);

	if (*s == '-' || (len && s[len - 1] == '\\'))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f || strchr("'`\"$;&<>|(){}", *s) || (*s == ' ' && s[1] == '-'))
			return false;
	return true;
}

/* Expands %h, %n, %p, %r and %% of the caller's proxy command; a configuration's is expanded already. */
static int expand_proxy(struct pssh_host *h)
{
	const char *s = h->proxy;
	struct buf b;
	int rc = 0;

	buf_init(&b, 65536);
	for (; *s && !rc; s++) {
		if (*s != '%')
			rc = buf_addc(&b, *s);
		else if (s[1] == 'h')
			rc = buf_adds(&b, h->plan.address), s++;
		else if (s[1] == 'n')
			rc = buf_adds(&b, h->alias), s++;
		else if (s[1] == 'r')
			rc = buf_adds(&b, h->plan.user), s++;
		else if (s[1] == 'p')
			rc = buf_addf(&b, "%u", h->plan.port), s++;
		else
			rc = buf_addc(&b, '%'), s += s[1] == '%';
	}
	h->plan_proxy = rc ? NULL : buf_steal(&b);
	buf_release(&b);
	return h->plan_proxy ? 0 : PSSH_ENOMEM;
}

/* A given socket, else jump host, proxy command or neither: as the caller set it, else as the configuration says. */
static int plan_way(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;
	const char *jump = h->jump, *proxy = h->proxy;

	if (!jump && !proxy && c) {
		jump = c->proxy_jump;
		proxy = c->proxy_command;
	}
	free(h->plan_proxy);
	h->plan_proxy = NULL;
	h->via = NULL;
	h->plan.proxy = NULL;
	h->plan.fd = h->given_fd;
	if (h->given_fd >= 0)
		return 0;
	if (jump && !host_is_none(jump))
		return host_find_jump(h, jump, &h->via, &h->why);
	if (!proxy || host_is_none(proxy))
		return 0;
	if (!safe_user(h->plan.user) || !host_safe_name(h->plan.address))
		return fail_set(&h->why, PSSH_EINVAL,
			"the user '%.100s' or the address '%.200s' has characters that a proxy command's shell would "
			"read",
			h->plan.user, h->plan.address);
	if (h->proxy && expand_proxy(h) != 0)
		return fail_set(&h->why, PSSH_ENOMEM, "out of memory");
	h->plan.proxy = h->plan_proxy ? h->plan_proxy : proxy;
	return 0;
}

static int plan_user(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;
	char room[4096];
	const char *user = host_or(h->spec_user, host_or(h->user, c ? c->user : NULL));

	free(h->plan_user);
	h->plan_user = strdup(user ? user : local_user(room, sizeof room));
	h->plan.user = h->plan_user;
	return h->plan_user ? 0 : PSSH_ENOMEM;
}

/* PreferredAuthentications only leaves methods out; their order stays OpenSSH's default. */
static bool host_prefers(const struct sshconfig_answer *c, const char *method)
{
	size_t len = strlen(method);

	if (!c || !c->preferred_authentications)
		return true;
	for (const char *at = c->preferred_authentications; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && memcmp(at, method, len) == 0)
			return true;
	return false;
}

static int plan_agent(struct pssh_host *h)
{
	struct conn_shared *shared = &h->fleet->shared;
	const char *path = h->config ? h->config->identity_agent : NULL;

	h->plan.auth.agent = path ? NULL : shared->keyring.agent;
	if (!path || host_is_none(path) || !*path)
		return 0;
	return keyring_find_agent(&shared->keyring, shared->loop, KIND_AGENT, path, &h->plan.auth.agent, &h->why);
}

int host_make_plan(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;
	struct conn_plan *plan = &h->plan;
	int rc;

	if (h->config_fail)
		return fail_set(&h->why, h->config_fail->code, "%s", h->config_fail->text);
	plan->name = h->spec;
	plan->address = host_or(h->address, c ? c->hostname : h->alias);
	plan->port = h->spec_port ? h->spec_port : h->port ? h->port : c && c->port ? c->port : 22;
	plan->bind = c ? c->bind_address : NULL;
	plan->warn_weak = !c || c->warn_weak != 0;
	plan->family = c && c->address_family > 0 ? c->address_family : 0;
	rc = plan_user(h);
	if (!rc)
		rc = plan_algorithms(h);
	if (!rc)
		rc = plan_identities(h);
	if (!rc)
		rc = plan_known(h);
	if (rc)
		return fail_set(&h->why, rc, "out of memory");
	plan_hostkey(h);
	plan_deadlines(h);
	plan->auth.user = plan->user;
	plan->auth.host = h->alias;
	rc = plan_agent(h);
	if (rc)
		return rc;
	plan->auth.identities_only = c && c->identities_only == 1;
	plan->auth.pubkey = (!c || c->pubkey != 0) && host_prefers(c, "publickey");
	plan->auth.kbdint = (!c || c->kbdint != 0) && host_prefers(c, "keyboard-interactive");
	plan->auth.password = (!c || c->password != 0) && host_prefers(c, "password");
	plan->auth.interactive = h->fleet->prompts && !h->stream && !(c && c->batch_mode == 1);
	plan->auth.tries = c && c->number_of_password_prompts > 0 ? (unsigned)c->number_of_password_prompts : 0;
	return plan_way(h);
}

bool host_is_busy(const struct pssh_host *h)
{
	return h->wanted || !list_empty(&h->runs) || (h->conn && !list_empty(&h->conn->riders));
}

void host_poke(struct pssh_host *h)
{
	if (h->conn)
		conn_wake(h->conn);
}
