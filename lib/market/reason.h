/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the market refuses: one closed list for engine, API and command line, so that a script meets the
 * same word everywhere. Values are negative codes; new rows go to the end.
 */
#ifndef MARKET_REASON_H
#define MARKET_REASON_H

/* X(name, code on the wire, HTTP status, SF Compute's error type, exit status of nanopod, text) */
#define REASONS(X) \
	X(INVALID, "invalid", 422, "unprocessable_entity", 2, "a value is invalid") \
	X(UNKNOWN_FIELD, "unknown_field", 422, "unprocessable_entity", 2, "the request has an unknown field") \
	X(MALFORMED, "malformed", 400, "invalid_request_error", 2, "the request is not JSON of the right shape") \
	X(TOO_LARGE, "too_large", 413, "invalid_request_error", 2, "the request is larger than the market takes") \
	X(UNAUTHENTICATED, "unauthenticated", 401, "authentication_error", 4, "no token, or an unknown one") \
	X(TOKEN_EXPIRED, "token_expired", 401, "authentication_error", 4, "the token has expired") \
	X(FORBIDDEN, "forbidden", 403, "forbidden", 4, "the token may not do this") \
	X(SUSPENDED, "suspended", 403, "forbidden", 4, "the account is suspended: it may reduce what it has, not add") \
	X(NOT_FOUND, "not_found", 404, "not_found", 3, "not found") \
	X(METHOD, "method_not_allowed", 405, "invalid_request_error", 2, "this path does not take that method") \
	X(NAME_TAKEN, "name_taken", 400, "invalid_request_error", 5, "that name is already in use") \
	X(KEY_REUSED, "idempotency_key_reused", 409, "idempotency_error", 5, \
		"the idempotency key was used for another request") \
	X(WRONG_STATE, "wrong_state", 409, "conflict", 5, "its state does not allow this") \
	X(HAS_DEPENDENTS, "has_dependents", 422, "unprocessable_entity", 5, "something still depends on it") \
	X(NO_CAPACITY, "no_capacity", 422, "unprocessable_entity", 6, \
		"not enough is on sale for that window at any price") \
	X(PRICE_TOO_LOW, "price_too_low", 422, "unprocessable_entity", 6, "what is on sale costs more than the limit") \
	X(HOSTS_SOLD, "hosts_sold", 422, "unprocessable_entity", 6, "the same hosts are not for sale in that window") \
	X(NOT_OWNED, "not_owned", 422, "unprocessable_entity", 5, "the pool does not own that much in that window") \
	X(FUNDS, "insufficient_funds", 402, "payment_required", 7, "the balance does not cover it") \
	X(OVER_MAX_TOTAL, "over_max_total", 402, "payment_required", 7, "it would cost more than the maximum total") \
	X(LIMIT, "limit_reached", 422, "unprocessable_entity", 7, "this exceeds a limit of the market") \
	X(PAST, "in_the_past", 422, "unprocessable_entity", 2, "the time is past") \
	X(OVERFLOW, "overflow", 422, "unprocessable_entity", 2, "the total is too large") \
	X(RATE, "rate_limited", 429, "invalid_request_error", 8, \
		"too many requests; try again after the time in Retry-After") \
	X(UNAVAILABLE, "unavailable", 503, "service_unavailable", 8, "the market cannot write now; nothing was done") \
	X(NOT_IMPLEMENTED, "not_implemented", 501, "not_implemented", 1, "this market does not have that") \
	X(NO_BUYER, "no_buyer", 422, "unprocessable_entity", 6, "nobody buys it at that price") \
	X(EXPIRED, "expired", 422, "unprocessable_entity", 6, "its window is over") \
	X(INTERNAL, "internal", 500, "api_error", 1, "an internal error of the market") \
	X(FENCED, "fenced", 409, "conflict", 5, "another machine uses this identity, and its session is newer") \
	X(QUOTA, "quota_exceeded", 403, "forbidden", 7, "the account has all that the market gives to one account") \
	X(NO_ROOM, "no_room", 422, "unprocessable_entity", 5, "the machine does not hold what the type promises") \
	X(BELOW_FLOOR, "below_floor", 422, "unprocessable_entity", 7, "the host is not sold for less than its floor") \
	X(POLICY, "denied_by_policy", 403, "forbidden", 7, "the market's policy does not allow it") \
	X(OVER_CAP, "over_cap", 402, "payment_required", 7, "it would cost more than may be spent in this month")

enum reason {
	REASON_NONE = 0,
	REASON_BASE = -3000,
#define REASON_X(name, code, http, type, status, text) REASON_##name,
	REASONS(REASON_X)
#undef REASON_X
	REASON_END
};

struct reason_row {
	const char *code, *type, *text;
	int http, status;
};

/* The row of a reason; of an unknown value that of INTERNAL. */
const struct reason_row *reason_row(int reason);
int reason_find(const char *code); /* REASON_NONE: unknown */

#endif
