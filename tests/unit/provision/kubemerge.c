/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster merged into kubeconfigs of all kinds: kubectl's, a cloud's, one in JSON, one with parts to leave alone. */
#include "../../lib/tap.h"

#include <errno.h>

#include "cli/provision/kubemerge.h"

static const char k3s[] = "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: "
			  "https://127.0.0.1:6443\n  name: default\n"
			  "contexts:\n- context:\n    cluster: default\n    user: default\n  name: "
			  "default\ncurrent-context: default\nkind: Config\n"
			  "preferences: {}\nusers:\n- name: default\n  user:\n    client-certificate-data: Q0VSVA==\n  "
			  "  client-key-data: S0VZ\n";

static const char cloud[] = "# mine\napiVersion: v1\nkind: Config\nclusters:\n  - name: prod # keep\n    cluster:\n    "
			    "  server: https://prod.example:443\n"
			    "      certificate-authority: /etc/ca.pem\n      extensions:\n        - extension: "
			    "{last-update: \"today\"}\n          name: x\n"
			    "  - cluster: {server: 'https://b', insecure-skip-tls-verify: true}\n    name: b\n"
			    "contexts:\n- context:\n    cluster: prod\n    namespace: web\n    user: me\n  name: prod\n"
			    "current-context: prod\npreferences: {colors: true}\nusers:\n- name: me\n  user:\n    "
			    "exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
			    "      command: aws\n      args:\n      - eks\n      - get-token\n      env: null\n      "
			    "installHint: |\n        Install it:\n\n          now\n"
			    "# the end\n";

static struct buf out, text;
static struct fail why;

static int merge(const char *from, const char *context)
{
	struct kubeaccess a;
	int rc;

	buf_clear(&text);
	buf_clear(&out);
	if (buf_adds(&text, from) || kubeaccess_read(k3s, strlen(k3s), &a, &why))
		return -ENOMEM;
	rc = kubemerge("config", &text, "nanopod-train", context, &a, &out, &why);
	kubeaccess_release(&a);
	return rc;
}

/* Every line of a is in b, in its order. */
static bool has_lines(const char *a, const char *b)
{
	while (*a) {
		size_t len = strcspn(a, "\n");

		while (*b && (strcspn(b, "\n") != len || strncmp(a, b, len) != 0))
			b += strcspn(b, "\n") + (b[strcspn(b, "\n")] == '\n');
		if (!*b)
			return false;
		a += len + (a[len] == '\n');
		b += len + (b[len] == '\n');
	}
	return true;
}

static void test_access(void)
{
	struct kubeaccess a;
	char host[64];
	long port;

	ok(kubeaccess_read(k3s, strlen(k3s), &a, &why) == 0, "K3s' own file is understood");
	is_str(a.server, "https://127.0.0.1:6443", "its server");
	is_str(a.key, "S0VZ", "its key");
	ok(kubeaccess_server(&a, host, sizeof host, &port) && strcmp(host, "127.0.0.1") == 0 && port == 6443,
		"host and port");
	kubeaccess_release(&a);
	ok(kubeaccess_read("clusters: []\n", 13, &a, &why) == -EINVAL, "one without a server is refused");
	a = (struct kubeaccess){ .server = strdup("https://[fd00::1]:6443") };
	ok(kubeaccess_server(&a, host, sizeof host, &port) && strcmp(host, "fd00::1") == 0 && port == 6443, "IPv6");
	kubeaccess_release(&a);
}

static void test_fresh(void)
{
	char *first;

	ok(merge("", "train") == 0, "into nothing: %s", why.text);
	ok(strstr(buf_text(&out), "current-context: \"train\"\n") != NULL, "it is the current context");
	first = strdup(buf_text(&out));
	ok(merge(first, "train") == 0, "once more: %s", why.text);
	is_str(buf_text(&out), first, "changes nothing");
	free(first);
}

static void test_merge(void)
{
	char *first;

	ok(merge(cloud, "train") == 0, "into one that has others: %s", why.text);
	ok(has_lines(cloud, buf_text(&out)), "every line of it stays, comments too") || (diag("%s", buf_text(&out)), 0);
	ok(strstr(buf_text(&out),
		   "  - name: \"nanopod-train\"\n    cluster:\n      server: \"https://127.0.0.1:6443\"\n") != NULL,
		"it is indented as the others are");
	ok(strstr(buf_text(&out), "current-context: prod\n") != NULL, "the current context stays");
	first = strdup(buf_text(&out));
	ok(merge(first, "train") == 0, "once more: %s", why.text);
	is_str(buf_text(&out), first, "is the same");
	free(first);
	ok(merge(cloud, "prod") == -EEXIST, "another's context is not taken");
}

static void test_replaced(void)
{
	char *old;

	ok(merge(cloud, "train") == 0, "a first time");
	old = strdup(buf_text(&out));
	for (char *at = old; (at = strstr(at, "S0VZ"));)
		memcpy(at, "T0xE", 4);
	ok(merge(old, "train") == 0, "an old key: %s", why.text);
	ok(!strstr(buf_text(&out), "T0xE") && strstr(buf_text(&out), "S0VZ"), "is replaced");
	ok(has_lines(cloud, buf_text(&out)), "and the others are as they were");
	free(old);
}

static void test_forms(void)
{
	static const char *const good[] = {
		"apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\ncurrent-context: \"\"\n",
		"apiVersion: v1\nkind: Config\nclusters: null\ncontexts: null\nusers: null\ncurrent-context: "
		"\"\"\npreferences: {}\n",
		"kind: Config\napiVersion: v1", /* no newline at the end */
		"apiVersion: v1\nkind: Config\nusers:\n- user: {token: x}\n  name: a\n",
		"apiVersion: v1\nclusters:\n    -   cluster:\n            server: https://x\n        name: x\n",
	};
	static const char *const bad[] = {
		"{\"apiVersion\": \"v1\", \"clusters\": [{\"name\": \"a\", \"cluster\": {\"server\": \"x\"}}]}\n",
		"apiVersion: v1\nclusters: [{name: a, cluster: {server: x}}]\n",
		"clusters:\n-\n  name: a\n  cluster:\n    server: x\n",
		"clusters: &a\n- name: a\ncontexts: *a\n",
		"clusters: text\n",
		"a: [\n",
		"--- \nclusters: []\n--- \nkind: Config\n",
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ok(merge(good[i], "train") == 0, "form %zu is merged: %s", i, why.text);
		ok(strstr(buf_text(&out), "nanopod-train") != NULL, "and has it");
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(merge(bad[i], "train") != 0, "form %zu is refused: %s", i, why.text);
}

int main(void)
{
	buf_init(&out, 1 << 20);
	buf_init(&text, 1 << 20);
	test_access();
	test_fresh();
	test_merge();
	test_replaced();
	test_forms();
	buf_release(&out);
	buf_release(&text);
	return done();
}
