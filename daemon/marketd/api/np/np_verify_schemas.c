/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of what agents measure, and of what the market shows of it. */
#include "marketd/api/np/np_schemas.h"

enum { VERIFICATION_BYTES = 64 * 1024 };

#define STATE \
	{ \
		"state", SCHEMA_ENUM, FIELD_REQUIRED, "verified|unverified|expired|failed", 0, 0, NULL \
	}
#define SINCE TIME("at", FIELD_REQUIRED | FIELD_NULL)
#define UNTIL TIME("until", FIELD_REQUIRED | FIELD_NULL)
#define WHY \
	{ \
		"reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, \
			"why it failed or expired; not in offers" \
	}
#define NUMBER(name, text) \
	{ \
		name, SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, INT64_MAX, text \
	}
#define SAYS(name, text) \
	{ \
		name, SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, text \
	}

static const struct schema_field nonce[] = {
	OBJECT_IS("nonce"),
	{ "nonce", SCHEMA_STRING, FIELD_REQUIRED, "^[0-9a-f]+$", 32, 32, NULL },
	TIME("expires_at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field verification_request[] = {
	{ "verification", SCHEMA_STRING, FIELD_REQUIRED, NULL, 2, VERIFICATION_BYTES,
		"what 'nanopod-agentd verify --json' prints, with its signature" },
	{ 0 },
};

static const struct schema_field verified_host[] = {
	SAYS("host", NULL),
	SAYS("name", NULL),
	STATE,
	UNTIL,
	WHY,
	{ 0 },
};

static const struct schema_field verification_answer[] = {
	OBJECT_IS("verification"),
	{ "hosts", SCHEMA_ARRAY, FIELD_REQUIRED, "np.VerifiedHost", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field work_verification[] = {
	STATE,
	SINCE,
	UNTIL,
	{ "now", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0,
		"measure at once: what is sold waits for a proof, or nodes wait for a lease that was drawn" },
	{ 0 },
};

static const struct schema_field measured[] = {
	SAYS("check", NULL),
	NUMBER("median", NULL),
	NUMBER("least", NULL),
	NUMBER("most", NULL),
	SAYS("unit", NULL),
	SAYS("device", "its PCI address; empty: the machine"),
	TIME("at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field verification[] = {
	STATE,
	{ "asked", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "its type is sold from verified hosts" },
	SINCE,
	UNTIL,
	WHY,
	{ "tier", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "by its type's floors" },
	{ "measured", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Measured", 0, 0, "in offers the first 64" },
	{ 0 },
};

static const struct schema_field host_verification[] = {
	OBJECT_IS("host_verification"),
	{ "claims", SCHEMA_ANY, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "as the agent signed it" },
	{ 0 },
};

static const struct schema_field offer[] = {
	{ "instance_sku", SCHEMA_REF, FIELD_REQUIRED, "InstanceSkuSummary", 0, 0, NULL },
	TIME("start_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	SAYS("price_dollars_per_node_hour", NULL),
	{ "verification", SCHEMA_REF, FIELD_REQUIRED, "np.Verification", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field offer_list[] = {
	OBJECT_IS("offers"),
	{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Offer", 0, 0, "at most 1000" },
	{ 0 },
};

const struct schema schema_np_verify[] = {
	OBJECT("np.Nonce", nonce),
	OBJECT("np.VerificationRequest", verification_request),
	OBJECT("np.VerifiedHost", verified_host),
	OBJECT("np.VerificationAnswer", verification_answer),
	OBJECT("np.WorkVerification", work_verification),
	OBJECT("np.Measured", measured),
	OBJECT("np.Verification", verification),
	{ "np.HostVerification", SCHEMA_OBJECT, NULL, 0, 0, "np.Verification", host_verification, NULL },
	OBJECT("np.Offer", offer),
	OBJECT("np.OfferList", offer_list),
	{ 0 },
};
