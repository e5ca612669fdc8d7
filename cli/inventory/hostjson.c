/* SPDX-License-Identifier: Apache-2.0 */
/* Reads by steps, not by lib/conf: the list of a cluster's nodes is larger than any file of settings may be. */
#include "cli/inventory/hostjson.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/frame/jsonwalk.h"

enum { WORD_MAX = 1024, MODULES_MAX = 32, PATHS_MAX = 3 };

/* The text or number at the path, in out; false: there is none, or it is no name or address. */
static bool hostjson_word(const char *value, const char *path, struct buf *out)
{
	size_t len;
	const char *at = jsonwalk_find(value, path, strlen(path), &len);

	buf_clear(out);
	if (!at || !len || *at == '{' || *at == '[' || jsonwalk_text(at, len, out))
		return false;
	return out->len && strlen(buf_text(out)) == out->len;
}

/* A name from here stands for one host, never for a range or a group. */
static bool hostjson_is_name(const char *name)
{
	return *name && *name != '-' &&
		!name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")];
}

static int hostjson_host(struct hostbook *b, const char *name, const char *address, const char *group, struct fail *f)
{
	int rc;

	if (!hostjson_is_name(name))
		return fail_set(f, -EINVAL, "'%.60s' is no name of a host", name);
	rc = hostbook_add(b, group, name, f);
	return rc || !*address ? rc : hostbook_set(b, name, "ansible_host", address, f);
}

/* ---- Kubernetes ------------------------------------------------------------------------ */

/* The address to connect to: from outside of the cluster, else within, else its name. False: none of them. */
static bool hostjson_node_address(const char *node, struct buf *out)
{
	static const char *const kinds[] = { "ExternalIP", "InternalIP", "Hostname" };
	size_t len;
	const char *list = jsonwalk_find(node, "status.addresses", strlen("status.addresses"), &len);
	struct jsonwalk w;

	for (size_t k = 0; list && *list == '[' && k < sizeof kinds / sizeof *kinds; k++)
		for (bool more = jsonwalk_first(list, &w); more; more = jsonwalk_next(&w))
			if (hostjson_word(w.value, "type", out) && strcmp(buf_text(out), kinds[k]) == 0 &&
				hostjson_word(w.value, "address", out))
				return true;
	buf_clear(out);
	return false;
}

/* Role and labels: "node-role.kubernetes.io/worker" is the group worker, "topology.kubernetes.io/zone=a" zone_a. */
static int hostjson_node_groups(struct hostbook *b, const char *name, const char *node, struct fail *f)
{
	size_t len;
	const char *labels = jsonwalk_find(node, "metadata.labels", strlen("metadata.labels"), &len);
	struct buf group, value;
	struct jsonwalk w;
	int rc = 0;

	buf_init(&group, WORD_MAX);
	buf_init(&value, WORD_MAX);
	for (bool more = labels && *labels == '{' && jsonwalk_first(labels, &w); !rc && more;
		more = jsonwalk_next(&w)) {
		static const char role[] = "node-role.kubernetes.io/", own[] = "kubernetes.io/hostname";
		const char *slash = memchr(w.key, '/', w.key_len), *from = slash ? slash + 1 : w.key;

		if (w.key_len == strlen(own) && memcmp(w.key, own, w.key_len) == 0)
			continue;
		buf_clear(&group);
		buf_clear(&value);
		if (*w.value != '"' || jsonwalk_text(w.value, w.len, &value) ||
			buf_add(&group, from, (size_t)(w.key + w.key_len - from)) ||
			(value.len && !str_starts(w.key, role) && buf_addf(&group, "_%s", buf_text(&value))))
			rc = fail_set(f, -EINVAL, "a label of node '%.60s' is no text, or too long", name);
		else if (hostjson_is_name(buf_text(&group))) /* a label of another shape is no group */
			rc = hostbook_add(b, buf_text(&group), name, f);
	}
	buf_release(&group);
	buf_release(&value);
	return rc;
}

static int hostjson_node(struct hostbook *b, const char *node, struct fail *f)
{
	struct buf name, address;
	int rc;

	buf_init(&name, WORD_MAX);
	buf_init(&address, WORD_MAX);
	if (!hostjson_word(node, "kind", &name) || strcmp(buf_text(&name), "Node") != 0)
		rc = fail_set(f, -EINVAL,
			"this list of Kubernetes has no nodes; 'kubectl get nodes -o json' prints them");
	else if (!hostjson_word(node, "metadata.name", &name))
		rc = fail_set(f, -EINVAL, "a node has no metadata.name");
	else if (!hostjson_node_address(node, &address))
		rc = fail_set(f, -EINVAL, "node '%.60s' has no address in status.addresses", buf_text(&name));
	else
		rc = hostjson_host(b, buf_text(&name), buf_text(&address), "all", f);
	rc = rc ? rc : hostjson_node_groups(b, buf_text(&name), node, f);
	buf_release(&name);
	buf_release(&address);
	return rc;
}

static int hostjson_nodes(struct hostbook *b, const char *text, struct fail *f)
{
	size_t len;
	const char *items = jsonwalk_find(text, "items", strlen("items"), &len);
	struct jsonwalk w;
	int rc = 0;

	if (!items) /* kubectl get node NAME -o json */
		return hostjson_node(b, text, f);
	if (*items != '[')
		return fail_set(f, -EINVAL, "'items' is no list");
	for (bool more = jsonwalk_first(items, &w); !rc && more; more = jsonwalk_next(&w))
		rc = hostjson_node(b, w.value, f);
	return rc;
}

/* ---- Terraform ------------------------------------------------------------------------- */

/* Types of resources that are machines, and where each has its address; other types have addresses, too. */
static const struct hostjson_machine {
	const char *type, *paths[PATHS_MAX];
} hostjson_machines[] = {
	{ "aws_instance", { "public_ip", "private_ip" } },
	{ "aws_spot_instance_request", { "public_ip", "private_ip" } },
	{ "azurerm_linux_virtual_machine", { "public_ip_address", "private_ip_address" } },
	{ "digitalocean_droplet", { "ipv4_address", "ipv4_address_private" } },
	{ "google_compute_instance",
		{ "network_interface.0.access_config.0.nat_ip", "network_interface.0.network_ip" } },
	{ "hcloud_server", { "ipv4_address", "ipv6_address" } },
	{ "libvirt_domain", { "network_interface.0.addresses.0" } },
	{ "linode_instance", { "ip_address" } },
	{ "oci_core_instance", { "public_ip", "private_ip" } },
	{ "openstack_compute_instance_v2", { "access_ip_v4" } },
	{ "vsphere_virtual_machine", { "default_ip_address" } },
	{ "vultr_instance", { "main_ip" } },
};

/* "module.a.aws_instance.web[0]" names one resource: as a host "module.a.aws_instance.web-0". */
static void hostjson_place(char *address)
{
	char *out = address;

	for (const char *p = address; *p; p++)
		if (*p == '[')
			*out++ = '-';
		else if (*p != ']' && *p != '"')
			*out++ = *p;
	*out = '\0';
}

/* Its own name, where no other host has it; machines made by a count often share one. */
static int hostjson_machine_name(struct hostbook *b, const char *resource, struct buf *name, struct fail *f)
{
	static const char *const paths[] = { "values.name", "values.tags.Name", "values.hostname", "values.label",
		"values.display_name" };
	char *place;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (hostjson_word(resource, paths[i], name) && hostjson_is_name(buf_text(name)) &&
			!hostbook_find(b, buf_text(name)))
			return 0;
	if (!hostjson_word(resource, "address", name))
		return fail_set(f, -EINVAL, "a resource has no address");
	place = strdup(buf_text(name));
	if (!place)
		command_nomem();
	hostjson_place(place);
	buf_clear(name);
	buf_adds(name, place);
	free(place);
	return 0;
}

static int hostjson_resource(struct hostbook *b, const char *resource, struct fail *f)
{
	const struct hostjson_machine *m = NULL;
	struct buf word, name, address;
	size_t len;
	const char *values = jsonwalk_find(resource, "values", strlen("values"), &len);
	int rc = 0;

	buf_init(&word, WORD_MAX);
	buf_init(&name, WORD_MAX);
	buf_init(&address, WORD_MAX);
	for (size_t i = 0;
		hostjson_word(resource, "type", &word) && i < sizeof hostjson_machines / sizeof *hostjson_machines; i++)
		if (strcmp(buf_text(&word), hostjson_machines[i].type) == 0)
			m = &hostjson_machines[i];
	for (size_t i = 0; m && values && i < PATHS_MAX && m->paths[i] && !address.len; i++)
		if (!hostjson_word(values, m->paths[i], &address))
			buf_clear(&address);
	if (address.len && (!hostjson_word(resource, "mode", &name) || strcmp(buf_text(&name), "managed") == 0)) {
		rc = hostjson_machine_name(b, resource, &name, f);
		rc = rc ? rc : hostjson_host(b, buf_text(&name), buf_text(&address), buf_text(&word), f);
		if (!rc && hostjson_word(resource, "name", &word))
			rc = hostbook_add(b, buf_text(&word), buf_text(&name), f);
	}
	buf_release(&word);
	buf_release(&name);
	buf_release(&address);
	return rc;
}

static int hostjson_module(struct hostbook *b, const char *module, unsigned depth, struct fail *f)
{
	struct jsonwalk w;
	size_t len;
	const char *list = jsonwalk_find(module, "resources", strlen("resources"), &len);
	int rc = 0;

	if (depth > MODULES_MAX)
		return fail_set(f, -EINVAL, "its modules are more than %d levels deep", MODULES_MAX);
	for (bool more = list && *list == '[' && jsonwalk_first(list, &w); !rc && more; more = jsonwalk_next(&w))
		rc = hostjson_resource(b, w.value, f);
	list = rc ? NULL : jsonwalk_find(module, "child_modules", strlen("child_modules"), &len);
	for (bool more = list && *list == '[' && jsonwalk_first(list, &w); !rc && more; more = jsonwalk_next(&w))
		rc = hostjson_module(b, w.value, depth + 1, f);
	return rc;
}

/* ---- Both ------------------------------------------------------------------------------ */

static bool hostjson_has(const char *text, const char *key)
{
	size_t len;
	const char *at = jsonwalk_find(text, key, strlen(key), &len);

	return at && *at == '"';
}

bool hostjson_is(const char *text)
{
	text = jsonwalk_blank(text);
	return *text == '{' && (hostjson_has(text, "apiVersion") || hostjson_has(text, "format_version"));
}

int hostjson_read(struct hostbook *b, const char *text, struct fail *f)
{
	const char *end = jsonwalk_end(text), *root;
	size_t len;

	if (!end || *jsonwalk_blank(end))
		return fail_set(f, -EINVAL, "its JSON is %s", end ? "followed by other text" : "cut off");
	if (hostjson_has(text, "apiVersion"))
		return hostjson_nodes(b, text, f);
	root = jsonwalk_find(text, "values.root_module", strlen("values.root_module"), &len);
	if (!root && jsonwalk_find(text, "planned_values", strlen("planned_values"), &len))
		return fail_set(f, -EINVAL,
			"it is a plan of Terraform, which has no addresses yet; "
			"'terraform show -json' without a file prints the state");
	if (!root || *root != '{')
		return fail_set(f, -EINVAL, "its state of Terraform has no resources");
	return hostjson_module(b, root, 0, f);
}
