"""The peer of bench/serve/clients.ts: a retrieval server as the published systems write it, one search per request.

Run: python server_peer.py PASSAGES WIDTH. Python's own threading HTTP server before faiss's exact index; vectors and
query vectors are random, so that no encoder is timed.
"""
import json
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import faiss
import numpy as np

num_passages, dim = int(sys.argv[1]), int(sys.argv[2])
index = faiss.IndexFlatIP(dim)
rng = np.random.default_rng(1)
for _ in range(0, num_passages, 10_000):
    index.add(rng.standard_normal((10_000, dim), dtype=np.float32))
text = " ".join(f"word{i}" for i in range(100))


def embed(query):
    return np.random.default_rng(zlib.crc32(query.encode())).standard_normal(dim, dtype=np.float32)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def reply(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        import resource
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self.reply(f"process_cpu_seconds_total {usage.ru_utime + usage.ru_stime}\n".encode())

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        vectors = np.stack([embed(query) for query in asked["queries"]])
        scores, ids = index.search(vectors, asked["topk"])
        result = [
            [{"document": {"id": str(i), "contents": f'"Passage {i}"\n{text}'}, "score": float(s)} for i, s in zip(*row)]
            for row in zip(ids, scores)
        ]
        self.reply(json.dumps({"result": result}).encode())

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
