# policy.yaml for Open Policy Agent: the same input, the same decision, at data.nanopod.decision.
package nanopod

full := {"allow": true, "rate": "1", "limits": {}, "reason": ""}

decision := object.union(full, {"rule": "subsidy", "rate": "0"}) if {
	above(input.account.reputation_score, 50)
	above(input.account.personhood_score, 20)
	word(input.account.grant_active) == "true"
} else := object.union(full, {
	"rule": "trial",
	"allow": false,
	"reason": "a trial account buys up to 4 nodes; ask the operator for more",
}) if {
	member(input.account.groups, "trial")
	above(input.request.nodes, 4)
} else := object.union(full, {
	"rule": "students",
	"rate": "0.5",
	"limits": {"nodes": 8, "hours": "48", "price": "2.50"},
}) if {
	member(input.account.groups, "student")
} else := object.union(full, {"rule": "default"})

# Scores come as texts, so that no digit is lost. A text is a number if JSON would write it so, without an exponent.
above(x, limit) if {
	is_number(x)
	x > limit
}

above(x, limit) if {
	decimal(x)
	to_number(split(x, ".")[0]) > limit
}

above(x, limit) if {
	decimal(x)
	to_number(split(x, ".")[0]) == limit
	regex.match(`\.[0-9]*[1-9]`, x)
}

decimal(x) if {
	is_string(x)
	regex.match(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`, x)
}

member(list, wanted) if {
	is_array(list)
	wanted in list
}

word(x) := x if is_string(x)

word(x) := json.marshal(x) if is_boolean(x)
