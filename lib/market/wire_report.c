/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of money and node time. */
#include <errno.h>
#include <stddef.h>

#include "market/wire_part.h"

int wire_report_row(struct doc *d, long at, struct model_report_row *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_report_row, "at", INT, NEEDED, at),
		FIELD(model_report_row, "kind", TEXT, NEEDED, kind),
		FIELD(model_report_row, "account", TEXT, MAY, account),
		FIELD(model_report_row, "account_name", TEXT, MAY, account_name),
		FIELD(model_report_row, "reason", TEXT, MAY, reason),
		FIELD(model_report_row, "instance_sku", TEXT, MAY, sku),
		FIELD(model_report_row, "type", TEXT, MAY, type),
		FIELD(model_report_row, "pool", TEXT, MAY, pool),
		FIELD(model_report_row, "reservation", TEXT, MAY, reservation),
		FIELD(model_report_row, "host", TEXT, MAY, host),
		FIELD(model_report_row, "host_name", TEXT, MAY, host_name),
		FIELD(model_report_row, "volume", TEXT, MAY, volume),
		FIELD(model_report_row, "volume_name", TEXT, MAY, volume_name),
		FIELD(model_report_row, "amount_micros", INT, NEEDED, amount),
		FIELD(model_report_row, "gross_micros", INT, NEEDED, gross),
		FIELD(model_report_row, "fee_micros", INT, NEEDED, fee),
		FIELD(model_report_row, "seconds", INT, NEEDED, seconds),
		FIELD(model_report_row, "gpus", INT, MAY, gpus),
		FIELD(model_report_row, "transfers", INT, MAY, transfers),
		{ 0 },
	};
	struct model_report_row made = { 0 };
	int rc = wire_read(d, at, "a row of the report", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_report_books(struct doc *d, struct model_report_books *out, struct fail *f)
{
	static const char *const names[MODEL_BOOKS] = { "available", "held", "escrow" };
	struct model_report_books made;
	struct json_t *o = wire_object(d, WIRE_WHOLE, "a report", f), *all = o ? wire_member(o, "balances") : NULL;
	int rc = o ? 0 : -EPROTO;

	for (size_t i = 0; i < MODEL_BOOKS; i++)
		made.before[i] = made.after[i] = MODEL_NONE;
	for (size_t i = 0; !rc && i < MODEL_BOOKS && all; i++) {
		const struct wire_field fields[] = {
			{ "before_micros", WIRE_INT, false, offsetof(struct model_report_books, before[i]) },
			{ "after_micros", WIRE_INT, false, offsetof(struct model_report_books, after[i]) },
			{ 0 },
		};
		struct json_t *book = wire_member(all, names[i]);

		rc = book ? wire_fields(d, book, fields, "a balance", &made, f)
			  : wire_bad(f, "a report", names[i], "is missing");
	}
	if (!rc)
		*out = made;
	return rc;
}
