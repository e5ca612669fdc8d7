# SPDX-License-Identifier: Apache-2.0
# Random months of a market on a clock that this moves: buys, extensions, resale, releases, credits, hosts that fail.
# Then every report is compared with the ledger, posting by posting. report.py SOCKET SEED MONTHS
import calendar, datetime, http.client, json, random, socket, sys

path, seed, months = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rnd = random.Random(seed)
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print("# seed %d: %s" % (seed, what))


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)


conn = Unix("localhost")


def ask(method, where, body=None, want=True):
    for again in range(2 if method == "GET" else 1):  # the market closes a connection that was idle
        try:
            conn.request(method, where, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = conn.getresponse()
            break
        except (OSError, http.client.HTTPException):
            conn.close()
            if again:
                raise
    text = answer.read().decode()
    if want and answer.status >= 300:
        raise SystemExit("# %s %s: %d %s" % (method, where, answer.status, text))
    return json.loads(text) if text and answer.status < 300 else None


def month_of(at):
    d = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
    return d.year, d.month


def begin(y, m):
    return calendar.timegm((y + (m - 1) // 12, (m - 1) % 12 + 1, 1, 0, 0, 0))


now = begin(2027, 1) + rnd.randrange(20 * 86400) // 60 * 60


def clock(at):
    global now
    now = at
    ask("POST", "/np/v1/admin/clock", {"at": now})


clock(now)
ask("PUT", "/np/v1/policy", {"fee_bps": rnd.choice([0, 1, 250, 3333]), "release_bps": rnd.choice([0, 1234, 5000, 10000]),
                             "settle_minutes": rnd.choice([60, 333, 1440])})
skus = []
for alias, gpus in (("small", 0), ("big", 8)):
    skus.append(ask("POST", "/np/v1/skus", {"alias": alias, "gpus": gpus, "properties": {}})["id"])
buyers, sellers, hosts = ["ann", "bob", "cat"], ["sue", "tom"], []
for name in buyers + sellers + ["idle"]:
    ask("POST", "/np/v1/accounts", {"name": name})
for name in buyers:
    ask("POST", "/np/v1/accounts/%s/credits" % name, {"amount_dollars": "90000.000001", "reason": "first of " + name})
    for sku in ("small", "big"):
        ask("POST", "/v2/pools?account=" + name, {"name": "%s-%s" % (name, sku), "workspace": "default"})
for i in range(6):
    owner = sellers[i % 2]
    hosts.append((owner, ask("POST", "/np/v1/hosts?account=" + owner, {"name": "h%d" % i, "instance_sku": skus[i % 2]})["id"]))


def offer():
    owner, host = rnd.choice(hosts)
    ask("POST", "/np/v1/hosts/%s/offers?account=%s" % (host, owner), {
        "price_dollars_per_node_hour": "%d.%06d" % (rnd.randrange(9), rnd.randrange(16666) * 60 + 60), "start_at": now + 120,
        "end_at": now + rnd.randrange(1, 20) * 86400 // 60 * 60}, False)


def buy():
    who, k = rnd.choice(buyers), rnd.randrange(2)
    start = (now + rnd.choice([60, 3600, 86400])) // 60 * 60 + 60
    ask("POST", "/v2/orders?account=" + who, {
        "pool": "%s-%s" % (who, ("small", "big")[k]), "side": "buy", "instance_sku": skus[k], "allow_standing": rnd.random() < .3,
        "allow_partial": rnd.random() < .3, "limit_price_dollars_per_node_hour": "%d.000000" % rnd.randrange(1, 12),
        "allocation_schedule_delta": [{"start_at": start, "end_at": start + rnd.randrange(1, 1500) * 60,
                                       "node_count": rnd.randrange(1, 3)}]}, False)


def sell():
    who, k = rnd.choice(buyers), rnd.randrange(2)
    start = now // 60 * 60 + rnd.randrange(2, 1500) * 60
    ask("POST", "/v2/orders?account=" + who, {
        "pool": "%s-%s" % (who, ("small", "big")[k]), "side": "sell", "instance_sku": skus[k], "allow_standing": True,
        "limit_price_dollars_per_node_hour": "0.%06d" % (rnd.randrange(1, 900) * 60),
        "allocation_schedule_delta": [{"start_at": start, "end_at": start + rnd.randrange(1, 900) * 60, "node_count": 1}]}, False)


def extend():
    who = rnd.choice(buyers)
    ask("POST", "/np/v1/pools/%s-%s/extend?account=%s" % (who, rnd.choice(["small", "big"]), who),
        {"duration_seconds": rnd.randrange(1, 600) * 60, "limit_price_dollars_per_node_hour": "12.000000"}, False)


def release():
    who = rnd.choice(buyers)
    ask("POST", "/np/v1/pools/%s-%s/release?account=%s" % (who, rnd.choice(["small", "big"]), who), {}, False)


def credit():
    ask("POST", "/np/v1/accounts/%s/credits" % rnd.choice(buyers + sellers),
        {"amount_dollars": "%s%d.%06d" % (rnd.choice(["", "", "-"]), rnd.randrange(50), rnd.randrange(1, 10**6))}, False)


def refund():
    who, micros = rnd.choice(buyers), rnd.randrange(1, 50 * 10**6)
    of = "%s-%s" % (who, rnd.choice(["small", "big"]))
    if not ask("POST", "/np/v1/accounts/%s/credits" % who, {
            "amount_dollars": "%d.%06d" % divmod(micros, 10**6), "reservation": of, "reason": "slow"}, False):
        return  # more than was paid for it
    given[who, month_of(now)] = given.get((who, month_of(now)), 0) + micros
    given_for[of] = given_for.get(of, 0) + micros


def trouble():
    owner, host = rnd.choice(hosts)
    ask("PATCH", "/np/v1/hosts/%s?account=%s" % (host, owner), {"down": rnd.random() < .5}, False)


given, given_for, paid_for = {}, {}, {}
watched = seed % 4 == 3  # the overview is asked now and then, or only at the end
deeds = [offer, offer, buy, buy, buy, sell, extend, release, credit, refund, trouble]
first, late = month_of(now), rnd.randrange(20, 28)  # it ends within a month
while (month_of(now)[0] * 12 + month_of(now)[1]) - (first[0] * 12 + first[1]) < months or now % begin(*month_of(now)) < late * 86400:
    for _ in range(rnd.randrange(1, 5)):
        rnd.choice(deeds)()
    step = rnd.choice([60, 3600, 7 * 3600, 86400, 2 * 86400])
    edge = begin(month_of(now)[0], month_of(now)[1] + 1)
    clock(min(now + step, edge) if rnd.random() < .5 else now + step)
    if watched and rnd.random() < .02:
        ask("GET", "/np/v1/overview")  # it counts on from there
for owner, host in hosts:
    ask("PATCH", "/np/v1/hosts/%s?account=%s" % (host, owner), {"down": False}, False)
for _ in range(20):  # a day with sales, too
    for deed in (offer, offer, buy, buy, credit):
        deed()
    clock(now + 3600)

# ---- The ledger, and what follows from it without the report's rules ---------------------------------------------


def pages(where, cursor="after"):
    at = where
    while at:
        doc = ask("GET", at)
        yield doc
        at = where + "&%s=%s" % (cursor, doc["cursor"]) if doc["has_more"] else None


def ledger(account):
    return [p for doc in pages("/np/v1/ledger?limit=1000" + ("&account=" + account if account else "")) for p in doc["data"]]


def report(account, a, b, limit):
    rows, before, after = [], {}, {}
    for doc in pages("/np/v1/report?from=%d&to=%d&limit=%d%s" % (a, b, limit, "&balances=true&account=" + account if account else "")):
        rows += doc["data"]
        for book, v in (doc["balances"] or {}).items():
            if v["before_micros"] is not None:
                before.setdefault(book, v["before_micros"])
            if v["after_micros"] is not None:
                after[book] = v["after_micros"]
        check(sum(r["transfers"] for r in doc["data"]) <= limit, "a page reads more than it may")
    return rows, before, after


house = ledger(None)
used = {(p["seq"], p["transfer"]): p["amount"] for p in house if p["book"] == "used"}
fees = {(p["seq"], p["transfer"]): p["amount"] for p in house if p["book"] == "fees"}
ends = [begin(first[0], first[1] + i) for i in range(months + 2)]
seen, earned = 0, []
for account in buyers + sellers + ["idle"]:
    rows = ledger(account)
    seen += len(rows)
    carried = 0
    for a, b in zip(ends, ends[1:]):
        mine = [p for p in rows if p["asset"] == "0" and a <= p["at"] < b]
        got, before, after = report(account, a, b, rnd.choice([20, 37, 1000]))
        kinds = {}
        for r in got:
            kinds[r["kind"]] = kinds.get(r["kind"], 0) + r["amount_micros"]
            check(r["account_name"] == account, "a row is of another account")
            check(a <= r["at"] - r["at"] % 86400 < b, "a row is of another month")
        change = sum(p["amount"] for p in mine)
        total = sum(before.values())
        check(total == carried, "%s %d: opens with %d, not with what the month before closed with, %d" % (account, a, total, carried))
        check(total + sum(kinds.values()) == sum(after.values()), "%s %d: opening and rows are not the closing" % (account, a))
        check(sum(kinds.values()) == change, "%s %d: rows %d, ledger %d" % (account, a, sum(kinds.values()), change))
        for book in ("available", "held", "escrow"):
            last = [p["balance"] for p in rows if p["asset"] == "0" and p["book"] == book and p["at"] < b]
            check(after[book] == (last[-1] if last else 0), "%s %d: %s closes wrong" % (account, a, book))
        for r in got:
            if r["kind"] in ("usage", "forfeit"):
                paid_for[r["reservation"]] = paid_for.get(r["reservation"], 0) + r["gross_micros"]
        credits = sum(p["amount"] for p in mine if p["subject"] == "0")
        check(sum(r["amount_micros"] for r in got if r["kind"] == "credit" and r["pool"]) == given.get((account, month_of(a)), 0),
              "%s %d: refunds with a reason" % (account, a))
        check(kinds.get("credit", 0) + kinds.get("debit", 0) == credits, "%s %d: credits" % (account, a))
        keys = {(p["seq"], p["transfer"]): 0 for p in mine}
        for p in mine:
            keys[p["seq"], p["transfer"]] += p["amount"]
        gone = {(p["seq"], p["transfer"]) for p in mine if p["book"] == "escrow" and p["amount"] < 0}
        check(kinds.get("usage", 0) + kinds.get("forfeit", 0) == sum(keys[k] for k in gone), "%s %d: spending" % (account, a))
        check(sum(r["seconds"] for r in got if r["kind"] in ("usage", "refund")) == 60 * sum(used.get(k, 0) for k in gone),
              "%s %d: seconds of nodes" % (account, a))
        held = {(p["seq"], p["transfer"]) for p in mine if p["book"] == "held"}
        back = sum(p["amount"] for p in mine if p["book"] == "available" and (p["seq"], p["transfer"]) in gone)
        check(sum(r["gross_micros"] for r in got if r["kind"] == "refund") == back, "%s %d: refunds" % (account, a))
        sold = [p for p in mine if p["book"] == "available" and p["amount"] > 0 and p["subject"] != "0" and
                (p["seq"], p["transfer"]) not in gone and
                (p["seq"], p["transfer"]) not in held]
        earned += sold
        check(kinds.get("earning", 0) == sum(p["amount"] for p in sold), "%s %d: earnings" % (account, a))
        check(sum(r["fee_micros"] for r in got if r["kind"] == "earning") == sum(fees.get((p["seq"], p["transfer"]), 0) for p in sold),
              "%s %d: fees of sellers" % (account, a))
        carried = sum(after.values())
    now_has = ask("GET", "/np/v1/balance?account=" + account)
    check(carried == sum(now_has[b + "_micros"] for b in ("available", "held", "escrow")), account + ": the last closing is not what there is")

check(given_for, "nothing was refunded")
for of, micros in given_for.items():
    check(micros <= paid_for.get(of, 0), "%s: %d refunded, %d paid" % (of, micros, paid_for.get(of, 0)))

# Of everybody at once: the market's fees, and the same rows.
everybody, _, _ = report(None, 0, 1 << 33, rnd.choice([20, 333, 1000]))
check(sum(r["amount_micros"] for r in everybody if r["kind"] == "fee") == sum(fees.values()), "the market's fees")
one, _, _ = report("ann", 0, 1 << 33, 1000)
check(sum(r["amount_micros"] for r in everybody if r["account_name"] == "ann") == sum(r["amount_micros"] for r in one), "rows of one in those of all")
check(len({r["account_name"] for r in everybody}) >= 5, "everybody is in it")

# Usage events: each settlement once, of everybody and of one, in pages of any size; their sums are the report's, by month.


def usage(account, limit, start=0):
    got = []
    for doc in pages("/np/v1/usage?limit=%d&from=%d%s" % (limit, start, "&account=" + account if account else "")):
        check(len(doc["data"]) <= limit, "a page of usage has more events than it may")
        got += doc["data"]
    return got


events = usage(None, rnd.choice([2, 37, 1000]))
places = [tuple(int(n) for n in e["id"].split("-")[:2]) for e in events]
check(places == sorted(places) and len(set(places)) == len(places), "events are in the order of the ledger, once each")
check(len({e["id"] for e in events}) == len(events) > 0, "ids of events")
for account in buyers + sellers + ["idle"]:
    mine = [e for e in events if e["data"]["account_name"] == account]
    check(usage(account, rnd.choice([2, 37, 1000])) == mine, account + ": its events are not those of everybody's that are its own")
    for a, b in zip(ends, ends[1:]):
        rows = [r for r in everybody if r["account_name"] == account and a <= r["at"] < b]
        here = [e["data"] for e in mine if a <= e["data"]["at"] < b]
        for kinds, field, said in ((("usage", "forfeit", "sponsored"), "amount_micros", "gross_micros"),
                                   (("granted",), "granted_micros", "gross_micros"), (("refund",), "refunded_micros", "gross_micros")):
            check(sum(d[field] for d in here) == sum(r[said] for r in rows if r["kind"] in kinds), "%s %d: %s of events" % (account, a, field))
        check(60 * sum(d["node_minutes"] for d in here) ==
              sum(r["seconds"] for r in rows if r["kind"] in ("usage", "refund", "granted")), "%s %d: minutes of events" % (account, a))
        check(sum(d["gpu_seconds"] for d in here) == sum(r["seconds"] * r["gpus"] for r in rows if r["kind"] in ("usage", "refund", "granted")),
              "%s %d: GPU-seconds of events" % (account, a))
        check(sum(d["amount_micros"] for d in here if d["kind"] == "forfeit") ==
              sum(r["gross_micros"] for r in rows if r["kind"] == "forfeit"), "%s %d: forfeits of events" % (account, a))
later = [e for e in events if e["data"]["at"] >= ends[1]]
check(usage(None, 1000, ends[1]) == later, "events from a time on")
print("# seed %d: %d events: %s" % (seed, len(events), " ".join(sorted({e["data"]["kind"] + "/" + e["data"]["tier"] for e in events}))))

# The operator's overview, after the market has counted up to now.
for asked in range(100):
    view = ask("GET", "/np/v1/overview")
    if view["counted"]:
        break
    check(view["today"] is None and view["month"] is None, "what is not counted is not told")
day = now - now % 86400
for name, start in (("today", day), ("month", begin(*month_of(now)))):
    got, fee = view[name], sum(p["amount"] for p in house if p["book"] == "fees" and p["at"] >= start)
    check(got["fees_micros"] == fee, "%s: fees" % name)
    check(got["turnover_micros"] == fee + sum(p["amount"] for p in earned if p["at"] >= start), "%s: turnover" % name)
    check(got["credited_micros"] == -sum(p["amount"] for p in house if p["book"] == "issued" and p["asset"] == "0" and p["at"] >= start),
          "%s: credits" % name)
    check(got["node_seconds"] == 60 * sum(p["amount"] for p in house if p["book"] == "used" and p["at"] >= start), "%s: time" % name)
money = [ask("GET", "/np/v1/balance?account=" + a) for a in buyers + sellers + ["idle"]]
for book in ("available", "held", "escrow"):
    check(view["money"][book + "_micros"] == sum(m[book + "_micros"] for m in money), "overview: " + book)
check(view["money"]["running_per_hour_micros"] == sum(m["burn_micros_per_hour"] for m in money), "overview: what runs")
check(view["accounts"] == {"total": 6, "suspended": 0, "selling": 2, "buying": sum(m["burn_micros_per_hour"] > 0 for m in money)},
      "overview: accounts")
print("# seed %d: overview after %d questions, %s of this month, %s of today" % (
    seed, asked + 1, view["month"]["turnover_dollars"], view["today"]["turnover_dollars"]))
check(view["month"]["turnover_micros"] > 0, "nothing was sold this month")
kinds = sorted({r["kind"] for r in everybody})
print("# seed %d: %d postings of accounts, kinds %s, until %d" % (seed, seen, " ".join(kinds), now))
sys.exit(1 if failed else 0)
