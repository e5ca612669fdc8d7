/* SPDX-License-Identifier: Apache-2.0 */
/* One table, grouped by what libpssh does with a keyword. Spelling as in ssh_config(5). */
#include "pssh/config/sshkeyword.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/str.h"
#include "pssh/config/sshconfig.h"

static const struct choice flag[] = {
	{ "yes", 1 }, { "true", 1 }, { "no", 0 }, { "false", 0 }, { NULL, 0 },
};

static const struct choice pubkey[] = {
	{ "yes", 1 }, { "true", 1 }, { "no", 0 }, { "false", 0 }, { "unbound", 1 }, { "host-bound", 1 }, { NULL, 0 },
};

static const struct choice strict[] = {
	{ "yes", SSHCONFIG_STRICT_YES }, { "true", SSHCONFIG_STRICT_YES }, { "no", SSHCONFIG_STRICT_NO },
	{ "false", SSHCONFIG_STRICT_NO }, { "off", SSHCONFIG_STRICT_NO }, { "ask", SSHCONFIG_STRICT_ASK },
	{ "accept-new", SSHCONFIG_STRICT_ACCEPT_NEW }, { NULL, 0 },
};

static const struct choice weak[] = {
	{ "yes", 1 },
	{ "true", 1 },
	{ "no", 0 },
	{ "false", 0 },
	{ "no-pq-kex", 0 },
	{ NULL, 0 },
};

static const struct choice family[] = {
	{ "any", AF_UNSPEC }, { "inet", AF_INET }, { "inet6", AF_INET6 }, { NULL, 0 },
};

static const struct choice tty[] = {
	{ "yes", SSHCONFIG_TTY_YES }, { "true", SSHCONFIG_TTY_YES }, { "no", SSHCONFIG_TTY_NO },
	{ "false", SSHCONFIG_TTY_NO }, { "force", SSHCONFIG_TTY_FORCE }, { "auto", SSHCONFIG_TTY_AUTO }, { NULL, 0 },
};

#define TEXT(n, s) { .name = n, .kind = KEYWORD_TEXT, .setting = s }
#define FLAG(n, s) { .name = n, .kind = KEYWORD_CHOICE, .setting = s, .choices = flag }
#define CHOICE(n, s, c) { .name = n, .kind = KEYWORD_CHOICE, .setting = s, .choices = c }
#define SOME(n, k, s) { .name = n, .kind = k, .setting = s }
#define QUIET(n) { .name = n, .kind = KEYWORD_QUIET }
#define WARN(n, values, w) { .name = n, .kind = KEYWORD_WARN, .harmless = values, .why = w }

static const struct keyword keywords[] = {
	SOME("Host", KEYWORD_HOST, SET_NONE),
	SOME("Match", KEYWORD_MATCH, SET_NONE),
	SOME("Include", KEYWORD_INCLUDE, SET_NONE),
	SOME("IgnoreUnknown", KEYWORD_IGNORE_UNKNOWN, SET_NONE),

	/* Honoured. */
	TEXT("HostName", SET_HOSTNAME),
	TEXT("User", SET_USER),
	TEXT("HostKeyAlias", SET_HOST_KEY_ALIAS),
	TEXT("BindAddress", SET_BIND_ADDRESS),
	TEXT("BindInterface", SET_BIND_INTERFACE),
	TEXT("PreferredAuthentications", SET_PREFERRED),
	TEXT("KexAlgorithms", SET_KEX),
	TEXT("HostKeyAlgorithms", SET_HOSTKEYS),
	TEXT("Ciphers", SET_CIPHERS),
	TEXT("MACs", SET_MACS),
	TEXT("PubkeyAcceptedAlgorithms", SET_PUBKEY_ALGORITHMS),
	TEXT("PubkeyAcceptedKeyTypes", SET_PUBKEY_ALGORITHMS),
	TEXT("Tag", SET_TAG),
	SOME("Port", KEYWORD_PORT, SET_PORT),
	SOME("ProxyJump", KEYWORD_JUMP, SET_PROXY),
	SOME("ProxyCommand", KEYWORD_REST, SET_PROXY),
	SOME("RemoteCommand", KEYWORD_REST, SET_REMOTE_COMMAND),
	SOME("IdentityFile", KEYWORD_MORE, SET_IDENTITY_FILE),
	SOME("IdentityFile2", KEYWORD_MORE, SET_IDENTITY_FILE),
	SOME("CertificateFile", KEYWORD_MORE, SET_CERTIFICATE_FILE),
	SOME("IdentityAgent", KEYWORD_SOCKET, SET_IDENTITY_AGENT),
	SOME("ForwardAgent", KEYWORD_FORWARD, SET_FORWARD_AGENT),
	SOME("UserKnownHostsFile", KEYWORD_WORDS, SET_USER_KNOWN_HOSTS),
	SOME("GlobalKnownHostsFile", KEYWORD_WORDS, SET_GLOBAL_KNOWN_HOSTS),
	SOME("SendEnv", KEYWORD_SENDENV, SET_SEND_ENV),
	SOME("SetEnv", KEYWORD_SETENV, SET_SET_ENV),
	SOME("ConnectTimeout", KEYWORD_TIME, SET_CONNECT_TIMEOUT),
	SOME("ConnectionAttempts", KEYWORD_NUMBER, SET_CONNECTION_ATTEMPTS),
	SOME("ServerAliveInterval", KEYWORD_TIME, SET_ALIVE_INTERVAL),
	SOME("ProtocolKeepAlives", KEYWORD_TIME, SET_ALIVE_INTERVAL),
	SOME("SetupTimeOut", KEYWORD_TIME, SET_ALIVE_INTERVAL),
	SOME("ServerAliveCountMax", KEYWORD_NUMBER, SET_ALIVE_COUNT),
	SOME("NumberOfPasswordPrompts", KEYWORD_NUMBER, SET_PROMPTS),
	SOME("EscapeChar", KEYWORD_ESCAPE, SET_ESCAPE),
	CHOICE("AddressFamily", SET_ADDRESS_FAMILY, family),
	CHOICE("RequestTTY", SET_REQUEST_TTY, tty),
	CHOICE("StrictHostKeyChecking", SET_STRICT, strict),
	CHOICE("PubkeyAuthentication", SET_PUBKEY, pubkey),
	CHOICE("DSAAuthentication", SET_PUBKEY, pubkey),
	FLAG("IdentitiesOnly", SET_IDENTITIES_ONLY),
	FLAG("PasswordAuthentication", SET_PASSWORD),
	FLAG("KbdInteractiveAuthentication", SET_KBDINT),
	FLAG("ChallengeResponseAuthentication", SET_KBDINT),
	FLAG("SkeyAuthentication", SET_KBDINT),
	FLAG("TISAuthentication", SET_KBDINT),
	FLAG("BatchMode", SET_BATCH),
	FLAG("HashKnownHosts", SET_HASH),
	FLAG("Compression", SET_COMPRESSION),
	CHOICE("WarnWeakCrypto", SET_WARN_WEAK, weak),
	FLAG("TCPKeepAlive", SET_TCP_KEEPALIVE),
	FLAG("KeepAlive", SET_TCP_KEEPALIVE),
	FLAG("NoHostAuthenticationForLocalhost", SET_NO_LOCALHOST),

	/* Warned about if they ask for more than libpssh does. */
	WARN("CanonicalizeHostname", "no,false,none", "libpssh does not canonicalize names"),
	WARN("VerifyHostKeyDNS", "no,false", "libpssh does not look up host keys in the DNS"),
	WARN("KnownHostsCommand", "none", "the command is not run; host keys come from known_hosts files only"),
	WARN("RevokedHostKeys", "none", "the file is not read; mark revoked keys with @revoked in known_hosts"),
	WARN("RequiredRSASize", "0,1024", "the size of RSA keys is not checked"),
	WARN("HostbasedAuthentication", "no,false", "host-based authentication is not supported"),
	WARN("PKCS11Provider", "none", "keys on PKCS#11 tokens work only through an agent"),
	WARN("SmartcardDevice", "none", "keys on smart cards work only through an agent"),
	WARN("SecurityKeyProvider", "none,internal", "security keys work only through an agent"),
	WARN("ProxyUseFdpass", "no,false", "the proxy command cannot pass a descriptor"),
	WARN("LocalForward", "", "no port is forwarded"),
	WARN("RemoteForward", "", "no port is forwarded"),
	WARN("DynamicForward", "", "no port is forwarded"),
	WARN("ForwardX11", "no,false", "X11 is not forwarded"),
	WARN("Tunnel", "no,false", "no network device is tunnelled"),
	WARN("PermitLocalCommand", "no,false", "LocalCommand is not run"),
	WARN("SessionType", "default", "a session is always a command or a shell"),

	/* No connection depends on these, or only together with one of the above. */
	QUIET("AddKeysToAgent"),
	QUIET("CanonicalDomains"),
	QUIET("CanonicalizeFallbackLocal"),
	QUIET("CanonicalizeMaxDots"),
	QUIET("CanonicalizePermittedCNAMEs"),
	QUIET("CASignatureAlgorithms"),
	QUIET("CheckHostIP"),
	QUIET("ClearAllForwardings"),
	QUIET("ControlMaster"),
	QUIET("ControlPath"),
	QUIET("ControlPersist"),
	QUIET("EnableEscapeCommandline"),
	QUIET("EnableSSHKeysign"),
	QUIET("ExitOnForwardFailure"),
	QUIET("FingerprintHash"),
	QUIET("ForkAfterAuthentication"),
	QUIET("ForwardX11Timeout"),
	QUIET("ForwardX11Trusted"),
	QUIET("GatewayPorts"),
	QUIET("HostbasedAcceptedAlgorithms"),
	QUIET("HostbasedKeyTypes"),
	QUIET("IPQoS"),
	QUIET("KbdInteractiveDevices"),
	QUIET("LocalCommand"),
	QUIET("LogLevel"),
	QUIET("LogVerbose"),
	QUIET("PermitRemoteOpen"),
	QUIET("RekeyLimit"),
	QUIET("StdinNull"),
	QUIET("StreamLocalBindMask"),
	QUIET("StreamLocalBindUnlink"),
	QUIET("SyslogFacility"),
	QUIET("TunnelDevice"),
	QUIET("UpdateHostkeys"),
	QUIET("VisualHostKey"),
	QUIET("XAuthLocation"),

	/* Debian turns these on; libssh2 has no GSSAPI and tries the next method. */
	QUIET("GSSAPIAuthentication"),
	QUIET("GSSAPIDelegateCredentials"),
	QUIET("GSSAPIKeyExchange"),
	QUIET("GSSAPITrustDns"),
	QUIET("GSSAPIClientIdentity"),
	QUIET("GSSAPIServerIdentity"),
	QUIET("GSSAPIRenewalForcesRekey"),
	QUIET("GSSAPIKexAlgorithms"),

	/* Newer than OpenSSH 9.2. */
	QUIET("ChannelTimeout"),
	QUIET("ObscureKeystrokeTiming"),
	QUIET("VersionAddendum"),
	QUIET("WarnWeakCrypto"),

	/* Obsolete; ssh ignores them too. */
	QUIET("Protocol"),
	QUIET("Cipher"),
	QUIET("FallBackToRsh"),
	QUIET("GlobalKnownHostsFile2"),
	QUIET("RhostsAuthentication"),
	QUIET("UserKnownHostsFile2"),
	QUIET("UseRoaming"),
	QUIET("UseRsh"),
	QUIET("UsePrivilegedPort"),
	QUIET("AFSTokenPassing"),
	QUIET("KerberosAuthentication"),
	QUIET("KerberosTGTPassing"),
	QUIET("RSAAuthentication"),
	QUIET("RhostsRSAAuthentication"),
	QUIET("CompressionLevel"),
};

enum { KEYWORDS = sizeof keywords / sizeof *keywords };

const struct keyword *keyword_find(const char *name)
{
	for (int i = 0; i < KEYWORDS; i++)
		if (strcasecmp(keywords[i].name, name) == 0)
			return &keywords[i];
	return NULL;
}

const char *keyword_nearest(const char *name)
{
	size_t best = 3;
	const char *nearest = NULL;

	for (int i = 0; i < KEYWORDS; i++) {
		char lower[64], want[64];
		size_t j, d;

		if (strlen(name) >= sizeof lower)
			return NULL;
		for (j = 0; name[j]; j++)
			lower[j] = name[j] >= 'A' && name[j] <= 'Z' ? (char)(name[j] + 32) : name[j];
		lower[j] = '\0';
		for (j = 0; keywords[i].name[j]; j++)
			want[j] = keywords[i].name[j] >= 'A' && keywords[i].name[j] <= 'Z' ?
				(char)(keywords[i].name[j] + 32) : keywords[i].name[j];
		want[j] = '\0';
		d = str_distance(lower, want);
		if (d < best) {
			best = d;
			nearest = keywords[i].name;
		}
	}
	return nearest;
}

/* Reads "90" or "1h30m"; -1: not a time. */
static int sshkeyword_seconds(const char *s)
{
	static const char units[] = "smhdw";
	static const int factors[] = { 1, 60, 3600, 86400, 604800 };
	long total = 0;

	if (!*s)
		return -1;
	while (*s) {
		long n = 0;
		const char *unit, *begin = s;

		for (; *s >= '0' && *s <= '9'; s++)
			if ((n = n * 10 + (*s - '0')) > INT_MAX)
				return -1;
		if (s == begin)
			return -1;
		if (*s) {
			unit = strchr(units, *s >= 'A' && *s <= 'Z' ? *s + 32 : *s);
			if (!unit)
				return -1;
			n *= factors[unit - units];
			s++;
		}
		total += n;
		if (total > INT_MAX)
			return -1;
	}
	return (int)total;
}

static const char *check_choice(const struct choice *c, const char *word, int *number)
{
	const struct choice *first = c;

	for (; c->word; c++) {
		if (strcasecmp(c->word, word) == 0) {
			*number = c->number;
			return NULL;
		}
	}
	return first == flag || first == pubkey ? "'yes' or 'no' expected" :
		first == strict ? "'yes', 'no', 'ask' or 'accept-new' expected" :
		first == family ? "'any', 'inet' or 'inet6' expected" : "'yes', 'no', 'force' or 'auto' expected";
}

static const char *check_number(const char *word, long min, long max, int *number)
{
	long n;

	if (str_to_long(word, min, max, &n) != 0)
		return "a whole number expected";
	*number = (int)n;
	return NULL;
}

/* A port's number or, as in ssh, the name of a service. */
static const char *check_port(const char *word, int *number)
{
	struct servent entry, *found = NULL;
	char room[1024];

	if (check_number(word, 1, 65535, number) == NULL)
		return NULL;
	if (!*word || strspn(word, "0123456789+-") == strlen(word) ||
		getservbyname_r(word, "tcp", &entry, room, sizeof room, &found) != 0 || !found)
		return "a port from 1 to 65535 or a service expected";
	*number = ntohs((uint16_t)found->s_port);
	return NULL;
}

static const char *check_time(const char *word, int *number)
{
	*number = sshkeyword_seconds(word);
	if (strcmp(word, "none") != 0 && *number < 0)
		return "a time such as '30' or '5m' expected";
	return NULL;
}

static const char *check_escape(const char *word, int *number)
{
	if (strcmp(word, "none") == 0)
		*number = KEYWORD_NO_ESCAPE;
	else if (word[0] && !word[1])
		*number = (unsigned char)word[0];
	else if (word[0] == '^' && word[1] >= 64 && !word[2])
		*number = word[1] & 31;
	else
		return "one character, '^' and a letter, or 'none' expected";
	return NULL;
}

static const char *check_words(const struct keyword *k, char *const *args)
{
	for (int i = 0; args[i]; i++) {
		if (!*args[i])
			return "an empty word";
		if (k->kind == KEYWORD_WORDS && strcasecmp(args[i], "none") == 0 && (i || args[1]))
			return "'none' must stand alone";
		if (k->kind == KEYWORD_SENDENV && strchr(args[i], '='))
			return "a name without '=' expected";
		if (k->kind == KEYWORD_SETENV && !strchr(args[i], '='))
			return "'NAME=value' expected";
	}
	return NULL;
}

/* Like ssh, ends the value at a '#'. After a blank ssh reads on in another way or not at all. */
static const char *check_jump(const char *value)
{
	size_t len = strcspn(value, "#");

	while (len && strchr(" \t", value[len - 1]))
		len--;
	if (!len || value[0] == ',' || value[len - 1] == ',' || memmem(value, len, ",,", 2))
		return "'host', 'user@host:port' or a list of them expected";
	if (strcspn(value, " \t") < len)
		return "blanks between jump hosts; 'a,b' is the form";
	return NULL;
}

const char *keyword_check(const struct keyword *k, char *const *args, int *number)
{
	const char *word = args[0];

	*number = KEYWORD_UNSET;
	if (k->kind == KEYWORD_QUIET || k->kind == KEYWORD_WARN || k->kind == KEYWORD_REST)
		return NULL;
	if (k->kind == KEYWORD_JUMP)
		return check_jump(word);
	if (k->kind == KEYWORD_WORDS || k->kind == KEYWORD_SENDENV || k->kind == KEYWORD_SETENV ||
	    k->kind == KEYWORD_HOST || k->kind == KEYWORD_INCLUDE)
		return check_words(k, args);
	if (args[1])
		return "more than one word";
	if (!*word)
		return "an empty value";
	switch (k->kind) {
	case KEYWORD_CHOICE:
		return check_choice(k->choices, word, number);
	case KEYWORD_NUMBER:
		return check_number(word, INT_MIN, INT_MAX, number);
	case KEYWORD_PORT:
		return check_port(word, number);
	case KEYWORD_TIME:
		return check_time(word, number);
	case KEYWORD_ESCAPE:
		return check_escape(word, number);
	case KEYWORD_FORWARD:
		if (check_choice(flag, word, number) != NULL)
			*number = 1;
		return NULL;
	default:
		return NULL;
	}
}

int keyword_forwards_socket(const char *value)
{
	int number;

	return check_choice(flag, value, &number) != NULL;
}

int keyword_is_harmless(const struct keyword *k, const char *value)
{
	size_t len = strlen(value);

	for (const char *s = k->harmless; len && *s; s += strcspn(s, ","), s += *s == ',')
		if (strcspn(s, ",") == len && strncasecmp(s, value, len) == 0)
			return 1;
	return 0;
}
