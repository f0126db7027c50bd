// Requests to the server: one at a time for each part of the page, of which the newest wins.

let key = null;

export function useKey(given) {
  key = given;
}

export class Refused extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

function messageOf(body) {
  if (typeof body?.error === "string") return body.error;
  return body?.error?.message ?? body?.message ?? "";
}

export async function ask(address, body, signal) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const method = body === undefined ? "GET" : "POST";
  const answer = await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) });
  const found = await answer.json().catch(() => null);
  if (answer.ok && found !== null) return found;
  throw new Refused(answer.status, messageOf(found), Number(answer.headers.get("Retry-After")) || 0);
}

// Calls `act` a moment after the last of many calls; the answer to an older call is dropped.
export class Newest {
  constructor(act, { wait = 0 } = {}) {
    this.act = act;
    this.wait = wait;
    this.timer = null;
    this.asked = null;
  }

  later(wait = this.wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), wait);
  }

  hold() {
    clearTimeout(this.timer);
  }

  async now() {
    clearTimeout(this.timer);
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    try {
      await this.act(asked.signal);
    } catch (fault) {
      if (!asked.signal.aborted) throw fault;
    }
  }
}
