"""A small orchestrator. Each line of standard input is an errand: an agent's URL, a space, and all that the agent need be told."""
import contextlib, json, signal, sys, threading, time, urllib.parse, urllib.request, uuid
from kubernetes import client, config, watch
SKEW = 5  # seconds that our clock may be from the operator's: trust ends so much sooner
CALL, QUIET, HARD, MOST = 10, 30, 300, 1 << 20  # seconds for the API server, a quiet agent and an errand; bytes of an answer
OVER = ("_COMPLETED", "_FAILED", "_CANCELED", "_REJECTED")  # ends of states in which a task is over; _REQUIRED: it waits for us
METHODS = {"Streaming": "SendStreamingMessage", "SingleShot": "SendMessage"}
peers, listed = {}, threading.Event()  # AgentPeers by uid

def follow(listing, *kind):
    """Keeps peers as the API server has them. Whatever ends the watch (its time, 410, a restart, a missing right): list anew."""
    global peers
    while True:
        try:
            found = listing(*kind, _request_timeout=CALL)
            peers = {p["metadata"]["uid"]: p for p in found["items"]}
            listed.set()
            for e in watch.Watch().stream(listing, *kind, timeout_seconds=240, _request_timeout=270,
                                          resource_version=found["metadata"]["resourceVersion"]):
                peers[e["object"]["metadata"]["uid"]] = e["object"] if e["type"] != "DELETED" else {"spec": {}}
        except Exception as e:  # what we know stays, and lapses by itself
            print("watching AgentPeers:", type(e).__name__, getattr(e, "status", ""), file=sys.stderr, flush=True)
        time.sleep(1)

def plain(url):
    u = urllib.parse.urlsplit(url)
    return u.scheme, u.netloc.lower().removesuffix({"http": ":80", "https": ":443"}.get(u.scheme, "")), u.path.removesuffix("/"), u.query

def path_to(url):  # of all AgentPeers for a URL the worst counts; a status that is absent, of another target or past its time proves nothing
    paths, soon = set(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + SKEW))  # as times in status are written
    for p in list(peers.values()):
        spec, status = p["spec"], p.get("status", {})
        d, target = status.get("decision"), plain(status.get("target", ""))
        if plain(url) in (plain(spec.get("url", "")), target):
            signed = spec.get("card", {}).get("verification", {}).get("policy") == "Require"  # then an edit may have taken a key away
            same = d and (d["path"] == "Unavailable" or "url" not in spec or plain(spec["url"]) == target)
            seen = not signed or status.get("observedGeneration") == p["metadata"]["generation"]
            paths.add(d["path"] if same and seen and soon < d.get("expirationTime", "9999") else "Unavailable" if signed else "SingleShot")
    return "Unavailable" if "Unavailable" in paths else "Streaming" if paths == {"Streaming"} else "SingleShot"

def ask(url, method, **params):  # yields the result of a call, or each of a stream; an error has none, which raises KeyError
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url, call, {"Content-Type": "application/json", "A2A-Version": "1.0"})
    with urllib.request.urlopen(request, timeout=QUIET) as answer:
        if "event-stream" not in answer.headers.get("Content-Type", ""):
            yield json.loads(answer.read(MOST))["result"]
        for line in iter(lambda: answer.readline(MOST), b""):
            if line.startswith(b"data:"): yield json.loads(line[5:])["result"]

def run(url, text):
    path, task, state = path_to(url), None, ""
    if path not in METHODS: return path
    signal.alarm(HARD)
    try:
        card = json.loads(urllib.request.urlopen(url.removesuffix("/") + "/.well-known/agent-card.json", timeout=QUIET).read(MOST))
        at = next(i["url"] for i in card["supportedInterfaces"] if i["protocolBinding"] == "JSONRPC" and i["protocolVersion"] == "1.0")
        method, message = METHODS[path], {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        with contextlib.suppress(OSError):  # a stream that breaks or goes quiet is not the end of its task
            for event in ask(at, method, message=message, configuration={"returnImmediately": True}):
                if "message" in event: return f"{path} message"
                e = event.get("task") or event.get("statusUpdate") or event["artifactUpdate"]  # what was made is in artifacts
                task, state = e.get("taskId") or e["id"], e.get("status", {}).get("state", state)
        while not state.endswith((*OVER, "_REQUIRED")):
            time.sleep(1)
            state = next(ask(at, "GetTask", id=task))["status"]["state"]
        return f"{path} {state}"
    finally:  # nobody waits any more, so nobody should work
        signal.alarm(QUIET)
        if task and not state.endswith(OVER): next(ask(at, "CancelTask", id=task))
        signal.alarm(0)

config.load_config()  # your kubeconfig, or the pod's ServiceAccount
signal.signal(signal.SIGALRM, signal.default_int_handler)  # out of time is as Ctrl-C: it ends an errand, whatever still drips in
kind = client.CustomObjectsApi().list_cluster_custom_object, "trust.agentpeer.dev", "v1alpha1", "agentpeers"
threading.Thread(target=follow, args=kind, daemon=True).start()
listed.wait(CALL)
for line in sys.stdin:
    try: print(run(*line.strip().split(" ", 1)), flush=True)
    except (Exception, KeyboardInterrupt) as e: print("failed:", type(e).__name__, flush=True)
