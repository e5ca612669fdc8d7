# SPDX-License-Identifier: Apache-2.0
# A stand-in of Lago: NOT Lago, but what its published contract says of the few requests that nanopod makes, with its traps
# (batches of at most 100, all or nothing; a second one of a code is refused; events for what it does not know are taken and
# never billed). lago.py FOLDER KEY [SEED]
#
# FOLDER/port has the port. FOLDER/faults, read anew for each request, says how many of 1000 requests fail; which way is drawn
# by SEED: refuse (the connection is closed), 500, cut (before or after it did it), slow, another answer than its own, no JSON
# (before or after it did it), and, rarely, kill -9 of process FOLDER/pid (before or after it did it).
# GET /state (without a key) says what it has, for the test.
import datetime, decimal, http.server, json, os, random, re, signal, socketserver, sys, time, urllib.parse, uuid

folder, key, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1
rnd = random.Random(seed)
metrics, plans, customers, subscriptions, events, order = {}, {}, {}, {}, {}, []
count = {"requests": 0, "faults": 0, "kills": 0, "refused": 0, "ways": {}}
WAYS = ["refuse", "500", "cut", "cut-after", "slow", "other", "no-json", "no-json-after"]
last = {}


def new_id():
    return str(uuid.UUID(int=rnd.getrandbits(128)))


def iso(at):
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def refuse(details):
    count["refused"] += 1
    return 422, {"status": 422, "error": "Unprocessable Entity", "code": "validation_errors", "error_details": details}


def none(what):
    return 404, {"status": 404, "error": "Not Found", "code": what + "_not_found"}


def post_metric(o):
    o = o["billable_metric"]
    if o["code"] in metrics:
        return refuse({"code": ["value_already_exist"]})
    metrics[o["code"]] = dict(o, lago_id=new_id(), created_at=iso(0), filters=[])
    return 200, {"billable_metric": metrics[o["code"]]}


def post_plan(o):
    o = o["plan"]
    if o["code"] in plans:
        return refuse({"code": ["value_already_exist"]})
    by_id = {m["lago_id"]: m for m in metrics.values()}
    for c in o["charges"]:
        if c["billable_metric_id"] not in by_id:
            return none("billable_metrics")
        if c["charge_model"] == "dynamic" and by_id[c["billable_metric_id"]]["aggregation_type"] != "sum_agg":
            return refuse({"charge_model": ["invalid_aggregation_type"]})
    charges = [{"lago_id": new_id(), "lago_billable_metric_id": c["billable_metric_id"], "charge_model": c["charge_model"],
                "billable_metric_code": by_id[c["billable_metric_id"]]["code"], "properties": c["properties"]} for c in o["charges"]]
    plans[o["code"]] = dict(o, lago_id=new_id(), charges=charges)
    return 200, {"plan": plans[o["code"]]}


def post_customer(o):
    o = o["customer"]
    customers.setdefault(o["external_id"], {"lago_id": new_id()}).update(o)
    return 200, {"customer": customers[o["external_id"]]}


def post_subscription(o):
    o = o["subscription"]
    if o["external_customer_id"] not in customers:
        return none("customer")
    if o["plan_code"] not in plans:
        return none("plan")
    s = subscriptions.get(o["external_id"])
    if not s or s["plan_code"] != o["plan_code"]:
        s = subscriptions[o["external_id"]] = dict(o, lago_id=new_id(), status="active", started_at=o.get("subscription_at"))
    return 200, {"subscription": s}


def post_batch(o):
    batch, wrong, seen = o["events"], {}, set()
    if len(batch) > 100:
        return refuse({"events": ["too_many_events"]})
    for i, e in enumerate(batch):
        k = (e["external_subscription_id"], e["transaction_id"])
        if k in events or k in seen:
            wrong[str(i)] = {"transaction_id": ["value_already_exist"]}
        seen.add(k)
    if wrong:
        return refuse(wrong)
    for e in batch:
        k = (e["external_subscription_id"], e["transaction_id"])
        events[k] = e
        order.append(k)
    return 200, {"events": [{"lago_id": new_id(), "transaction_id": e["transaction_id"], "lago_customer_id": None, "code": e["code"],
                             "timestamp": iso(e["timestamp"]), "precise_total_amount_cents": e.get("precise_total_amount_cents"),
                             "properties": e["properties"], "lago_subscription_id": None,
                             "external_subscription_id": e["external_subscription_id"], "created_at": iso(0)} for e in batch]}


def starts(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)


def usage(customer, of):
    s = subscriptions.get(of)
    if customer not in customers or not s or s["external_customer_id"] != customer:
        return none("subscription" if customer in customers else "customer")
    latest = max([e["timestamp"] for e in events.values()], default=0)
    month = datetime.datetime.fromtimestamp(latest, datetime.timezone.utc).replace(day=1, hour=0, minute=0, second=0)
    begin = max(month, starts(s["started_at"]))
    charges = []
    for c in plans[s["plan_code"]]["charges"]:
        m = metrics[c["billable_metric_code"]]
        mine = [e for e in events.values() if e["external_subscription_id"] == of and e["code"] == m["code"] and
                e["timestamp"] >= begin.timestamp()]
        groups = {}
        for e in mine:
            g = groups.setdefault(tuple(e["properties"].get(k) for k in c["properties"]["pricing_group_keys"]), [0, decimal.Decimal(0), decimal.Decimal(0)])
            g[0] += 1
            g[1] += decimal.Decimal(e["properties"][m["field_name"]])
            g[2] += decimal.Decimal(e["precise_total_amount_cents"])
        cents = [int(g[2].quantize(0, decimal.ROUND_HALF_UP)) for g in groups.values()]
        charges.append({"units": str(decimal.Decimal(sum(g[1] for g in groups.values())).quantize(decimal.Decimal("0.1"))),
                        "events_count": len(mine), "amount_cents": sum(cents), "amount_currency": "USD",
                        "charge": {"lago_id": c["lago_id"], "charge_model": "dynamic"},
                        "billable_metric": {k: m[k] for k in ("lago_id", "name", "code", "aggregation_type")}, "filters": [],
                        "grouped_usage": [{"grouped_by": dict(zip(c["properties"]["pricing_group_keys"], k)), "events_count": g[0],
                                           "units": str(g[1]), "amount_cents": n} for (k, g), n in zip(groups.items(), cents)]})
    total = sum(c["amount_cents"] for c in charges)
    return 200, {"customer_usage": {"from_datetime": iso(int(begin.timestamp())), "to_datetime": iso(latest), "issuing_date": iso(latest)[:10],
                                    "currency": "USD", "amount_cents": total, "taxes_amount_cents": 0, "total_amount_cents": total,
                                    "charges_usage": charges}}


POSTS = {"billable_metrics": post_metric, "plans": post_plan, "customers": post_customer, "subscriptions": post_subscription,
         "events/batch": post_batch}
GETS = {"billable_metrics": (metrics, "billable_metric"), "plans": (plans, "plan"), "customers": (customers, "customer"),
        "subscriptions": (subscriptions, "subscription")}


def answer(method, path, query, body):
    found = re.fullmatch("/api/v1/customers/([^/]+)/current_usage", path)
    if method == "GET" and found:
        return usage(found[1], query.get("external_subscription_id", [""])[0])
    found = re.fullmatch("/api/v1/events/([^/]+)", path)
    if method == "GET" and found:
        e = [e for k, e in events.items() if k[1] == urllib.parse.unquote(found[1])]
        return (200, {"event": dict(e[0], lago_id=None, timestamp=iso(e[0]["timestamp"]))}) if e else none("event")
    found = re.fullmatch("/api/v1/([a-z_]+)/([^/]+)", path)
    if method == "GET" and found and found[1] in GETS:
        table, name = GETS[found[1]]
        thing = table.get(urllib.parse.unquote(found[2]))
        return (200, {name: thing}) if thing else none(name)
    if method == "POST" and path[8:] in POSTS:
        return POSTS[path[8:]](json.loads(body))
    return 404, {"status": 404, "error": "Not Found"}


class Lago(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *args):
        pass

    def say(self, status, text):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()

    def kill(self):
        try:
            with open(folder + "/pid") as f:
                os.kill(int(f.read()), signal.SIGKILL)
            os.unlink(folder + "/pid")
            count["kills"] += 1
        except (OSError, ValueError):
            pass

    def fault(self):
        with open(folder + "/faults") as f:
            if rnd.randrange(1000) >= int(f.read() or 0):
                return None
        count["faults"] += 1
        way = rnd.choice(["kill", "kill-after"]) if rnd.random() < 0.006 else rnd.choice(WAYS)
        count["ways"][way] = count["ways"].get(way, 0) + 1
        return way

    def serve(self, method):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        where = urllib.parse.urlsplit(self.path)
        if where.path == "/state":
            return self.say(200, json.dumps({"count": count, "events": [events[k] for k in order], "metrics": metrics, "plans": plans,
                                             "customers": customers, "subscriptions": subscriptions}).encode())
        count["requests"] += 1
        way = self.fault()
        if way in ("refuse", "cut", "kill"):
            self.close_connection = True
            if way == "kill":
                self.kill()
            if way == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ev")
            return
        if way == "500":
            return self.say(500, b'{"status":500,"error":"Internal Server Error"}')
        if way == "no-json":
            return self.say(200, b"<html>welcome to the proxy</html>")
        if way == "other" and last:
            return self.say(*rnd.choice(list(last.values())))
        if way == "slow":
            time.sleep(0.005)
        if self.headers.get("Authorization") != "Bearer " + key:
            return self.say(401, b'{"status":401,"error":"Unauthorized"}')
        status, said = answer(method, where.path, urllib.parse.parse_qs(where.query), body)
        text = json.dumps(said).encode()
        last[method + where.path[:20]] = (status, text)
        if way == "cut-after":
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text[:len(text) // 2])
        elif way == "no-json-after":
            self.say(200, b"{}")
        else:
            self.say(status, text)
            if way == "kill-after":
                self.kill()

    def do_GET(self):
        self.serve("GET")

    def do_POST(self):
        self.serve("POST")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64
    allow_reuse_address = True


with Server(("127.0.0.1", 0), Lago) as server:
    with open(folder + "/port.new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(folder + "/port.new", folder + "/port")
    server.serve_forever()
