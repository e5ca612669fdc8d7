/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/series/value16.h"

#include <math.h>

/* Six bits of exponent, ten of the mantissa, whose first bit is not stored. */
enum { FRACTION_BITS = 10, FRACTION = 1 << FRACTION_BITS, EXPONENT_LEAST = -20, EXPONENTS = 64 };

uint16_t value16_of(double v)
{
	int exponent;
	long code;

	if (isnan(v))
		return VALUE16_UNKNOWN;
	if (v <= 0)
		return 0;
	if (isinf(v))
		return VALUE16_UNKNOWN - 1;
	code = (long)(frexp(v, &exponent) * 2 * FRACTION + 0.5) - FRACTION; /* FRACTION: the next exponent's first */
	if (exponent < EXPONENT_LEAST)
		return 0;
	if (exponent >= EXPONENT_LEAST + EXPONENTS)
		return VALUE16_UNKNOWN - 1;
	code += (long)(exponent - EXPONENT_LEAST) << FRACTION_BITS;
	return code < 1 ? 1 : code < VALUE16_UNKNOWN ? (uint16_t)code : VALUE16_UNKNOWN - 1;
}

double value16_read(uint16_t code)
{
	if (code == VALUE16_UNKNOWN)
		return NAN;
	if (!code)
		return 0;
	return ldexp((double)((code & (FRACTION - 1)) + FRACTION) / (2 * FRACTION),
		(code >> FRACTION_BITS) + EXPONENT_LEAST);
}
