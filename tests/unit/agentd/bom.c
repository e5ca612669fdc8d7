/* SPDX-License-Identifier: Apache-2.0 */
/* A bill of materials beside machines of other people's sysfs: what fits, what does not, what is wrong in the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/verbs/bom.h"
#include "inventorytree.h"

static char root[1024];
static struct bom bom;
static struct fail why;

static int compare(const char *text)
{
	struct conf_file *file = NULL;
	struct inventory *v;
	int rc = conf_parse("bom.yaml", text, strlen(text), &file, &why);

	if (rc)
		return rc;
	if (inventory_read(&(struct inventory_setup){ .root = root, .nvml = "" }, &v))
		exit(99);
	rc = bom_compare(file, v, &bom, &why);
	free(v);
	conf_free(file);
	return rc;
}

static void row(size_t i, const char *part, const char *should, const char *is, enum bom_is result)
{
	const struct bom_row *r = &bom.rows[i];

	if (!ok(i < bom.count && strcmp(r->part, part) == 0 && strcmp(r->should, should) == 0 &&
			    strcmp(r->is, is) == 0 && r->result == result,
		    "%s: %s", part, should))
		diag("'%s' '%s' '%s' %d", r->part, r->should, r->is, r->result);
}

static void test_fits(void)
{
	is_int(compare("cpu: {model: epyc 9654, cores: 192, sockets: 2}\n"
		       "memory: 2304GiB\n"
		       "disks:\n- {model: micron_7450, size: 1.92TB}\n"
		       "gpus:\n- {model: MI300X, count: 8, memory: 192GiB}\n"
		       "nics:\n- {speed: 400000, rdma: yes}\n"
		       "psu: {watts: 3000, count: 6}\n"),
		0, "a file");
	row(0, "cpu", "epyc 9654", "AMD EPYC 9654 96-Core Processor", BOM_OK);
	row(1, "cpu cores", "192", "192", BOM_OK);
	row(2, "cpu sockets", "2", "2", BOM_OK);
	row(3, "memory", "2359296 MiB", "2322179 MiB", BOM_OK);
	row(4, "disk", "1x micron_7450 1920 GB", "1", BOM_OK);
	row(5, "gpu", "8x MI300X 206 GB", "8", BOM_OK);
	row(6, "nic", "1x network 400000 Mbit/s RDMA", "1", BOM_OK);
	row(7, "psu", "6x  3000 W", "read its label", BOM_UNSEEN);
	is_int(bom.count, 8, "nothing more");
}

static void test_differs(void)
{
	is_int(compare("cpu: {model: Xeon, cores: 64}\nmemory: 4TiB\n"
		       "disks: [{size: 4TB}, {model: Micron, count: 2}]\n"
		       "gpus: [{model: mi300x, count: 6}, {model: h100}]\n"),
		0, "another machine's file");
	row(0, "cpu", "Xeon", "AMD EPYC 9654 96-Core Processor", BOM_DIFFERS);
	row(1, "cpu cores", "64", "192", BOM_DIFFERS);
	row(2, "memory", "4194304 MiB", "2322179 MiB", BOM_DIFFERS);
	row(3, "disk", "1x 4000 GB", "0", BOM_MISSING);
	row(4, "disk", "2x Micron", "1", BOM_DIFFERS);
	row(5, "gpu", "6x mi300x", "6", BOM_OK);
	row(6, "gpu", "1x h100", "0", BOM_MISSING);
	row(7, "gpu", "none", "mi300x at 0000:c6:00.0", BOM_EXTRA);
	row(8, "gpu", "none", "mi300x at 0000:e5:00.0", BOM_EXTRA);
}

static void wrong(const char *text, const char *part, const char *what)
{
	is_int(compare(text), -EINVAL, "%s", what);
	has_str(why.text, part, "and where");
}

static void test_wrong(void)
{
	wrong("gpu: []\n", "line 1", "a word that it does not know");
	wrong("memory: much\n", "line 1, column 1: 'much' is no size; write e.g. 'memory: 64GiB'",
		"a size that is none");
	wrong("cpu:\n  cores: many\n", "line 2", "a number that is none");
	wrong("gpus: h100\n", "expected a list", "no list");
	wrong("gpus:\n- h100\n", "line 2", "no map");
	wrong("gpus:\n- {model: h100, number: 2}\n", "number", "a member that it does not know");
	wrong("nics: [{rdma: perhaps}]\n", "neither yes nor no", "a yes or no");
	wrong("", "it lists nothing", "an empty file");
	wrong("cpu: [\n", "line", "no YAML");
}

/* What people see: at most 80 columns. */
static void test_table(void)
{
	char *text = NULL, path[1100];
	size_t size = 0, longest = 0;
	FILE *out = open_memstream(&text, &size);

	tree_put(root, "bom.yaml", "cpu: {model: an extremely long name of a processor that nobody sells anywhere}");
	snprintf(path, sizeof path, "%s/bom.yaml", root);
	is_int(bom_verb(path, root, false, out, stderr), 11, "a machine that differs is status 11");
	fclose(out);
	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		longest = strcspn(at, "\n") > longest ? strcspn(at, "\n") : longest;
	ok(longest > 60 && longest <= 80, "the table fits 80 columns (%zu)", longest);
	has_str(text, "differs", "and says what differs");
	free(text);
	out = open_memstream(&text, &size);
	is_int(bom_verb("/nowhere/bom.yaml", root, false, stdout, out), 2, "no file is status 2");
	fclose(out);
	has_str(text, "/nowhere/bom.yaml", "and which");
	free(text);
}

int main(void)
{
	plan_none;
	tree_unpack("mi300x8", root, sizeof root);
	test_fits();
	test_differs();
	test_wrong();
	test_table();
	tree_remove(root);
	return done();
}
