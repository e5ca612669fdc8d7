/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in a line, lines that keep within a screen, and rows of `nanopod top` that hold what is not known. */
#include "cli/screen/spark.h"

#include <math.h>
#include <stdlib.h>

#include "../../lib/tap.h"
#include "base/utf8.h"
#include "cli/screen/page.h"
#include "cli/top/toppage.h"

static void check_curve(void)
{
	const double values[] = { 0, 0.5, NAN, 1, 7, -1 };
	char room[SPARK_TEXT];

	setenv("LC_ALL", "C.UTF-8", 1);
	is_str(spark_text(values, 6, 1, 6, room), "▁▅ ██▁", "a curve: 0 is seen, what is not known is blank");
	is_str(spark_text(values, 2, 1, 5, room), "   ▁▅", "what has less values than cells stands on the right");
	is_str(spark_text(values, 4, 1, 2, room), "▃█", "more values than cells: means of those that are known");
	is_str(spark_text(NULL, 0, 1, 3, room), "   ", "nothing is known");
	is_str(spark_text(values, 2, 0, 2, room), "▁█", "no top");
	setenv("LC_ALL", "C", 1);
	is_str(spark_text(values, 6, 1, 6, room), "_= ##_", "without UTF-8");
	setenv("LC_ALL", "C.UTF-8", 1);
	ok(strlen(spark_text(values, 6, 1, 100000, room)) < SPARK_TEXT, "no width is too much");
}

static void check_page(void)
{
	struct page p;

	page_begin(&p, 5, 2);
	is_int(page_piece(&p, COLOR_NONE, 5, true, "ab"), 5, "a piece is filled");
	page_end(&p);
	page_put(&p, COLOR_NONE, "%s", "longer than that");
	is_str(p.pieces[2].text, "longe", "or cut");
	page_put(&p, COLOR_NONE, "one too many");
	is_int(p.all, 3, "lines without room are counted");
	is_int(p.count, 4, "and not kept");
	page_release(&p);
	ok(!utf8_printable("\xe2\x80\xae", 3) && !utf8_printable("\xe2\x81\xa6", 3), "no sign turns a line around");
	is_int(utf8_printable("\xe2\x80\x93", 3), 3, "others of their kind are printed");
}

static void check_numbers(void)
{
	struct toprow r = { .end = 7200 };
	char room[TOP_TEXT];

	is_str(top_bytes(0, room), "0B", "no bytes");
	is_str(top_bytes(999, room), "999B", "three digits");
	is_str(top_bytes(1000, room), "1.0K", "then the next unit");
	is_str(top_bytes(85899345920., room), "80G", "a GPU's memory");
	is_str(top_bytes(9e17, room), "799P", "much");
	is_str(top_bytes(NAN, room), "-", "unknown");
	is_str(top_part(66571993088., 85899345920., room), "62/80G", "a part, with one unit");
	is_str(top_part(5e8, 85899345920., room), "477M/80G", "or two");
	is_str(top_part(5e8, NAN, room), "477M", "of nobody knows what");
	is_str(top_part(NAN, 5e8, room), "-", "an unknown part is none");
	is_str(top_ratio(0.874, room), "87%", "a ratio");
	is_str(top_cores(3.514, room), "3.51", "processors");
	is_str(top_left(&r, 0, room), "2h00m", "time left");
	r.early = true;
	is_str(top_left(&r, 7199, room), "1s!", "that ends early");
	is_str(top_left(&r, 9000, room), "0s!", "and has ended");
	r.end = 0;
	is_str(top_left(&r, 0, room), "-", "unknown");
	is_str(top_age(-1, room), "-", "nothing was measured");
}

/* One of two GPUs says nothing, one node has only a name. */
static void check_rows(void)
{
	struct model_measures gpus[2];
	double curve[] = { 0.2, NAN }, other[] = { 0.4, NAN };
	struct model_curve curves[] = { { curve, 2 }, { other, 2 } };
	struct model_sample samples[] = {
		{ .node = "inst_b", .at = 100, .gpus = gpus, .gpu_count = 2, .use = curves, .use_count = 2 }
	};
	struct model_node nodes[] = { { .id = "inst_a", .price = -1 },
		{ .id = "inst_b", .name = "b", .price = 280000 } };
	struct toplook l = { .nodes = nodes, .node_count = 2, .samples = samples, .sample_count = 1 };
	struct topwish w = { .sort = TOP_BY_USE, .now = 130 };
	struct toprows rows;

	for (double *at = (double *)gpus; at < (double *)(gpus + 2); at++)
		*at = NAN;
	gpus[0].use = 0.5;
	gpus[0].power = 300;
	toprows_make(&l, &w, &rows);
	is_int(rows.count, 2, "two nodes");
	is_str(rows.list[0].name, "b", "the one that is measured first");
	is_int(rows.list[0].of_gpus.use * 100, 50, "its use is that of the GPU that is known");
	is_int(rows.list[0].of_gpus.power, 300, "and its power");
	ok(isnan(rows.list[0].of_gpus.temperature) && isnan(rows.list[1].of_gpus.use), "what no GPU says is not known");
	is_int(rows.list[0].curve[0] * 100 + 0.5, 30, "its curve is the mean");
	ok(isnan(rows.list[0].curve[1]), "where there is one");
	is_int(rows.list[0].age, 30, "its age");
	is_int(rows.list[0].cost, 16800000, "its cost an hour");
	is_str(rows.list[1].name, "inst_a", "a node without a name has its id");
	is_int(rows.totals.gpus * 100 + rows.totals.busy * 10 + rows.totals.unknown, 211, "2 GPUs, 1 busy, 1 unknown");
	toprows_release(&rows);
	w.now = 1000;
	toprows_make(&l, &w, &rows);
	is_int(rows.totals.busy * 10 + rows.totals.unknown, 2, "old values make no GPU busy");
	toprows_release(&rows);
}

int main(void)
{
	check_curve();
	check_page();
	check_numbers();
	check_rows();
	return done();
}
