// The state of a panel as the part of the address behind `#`, which no server gets to see.

const LONGEST = 20_000;

// "#ask?q=…" as the panel's name and its fields.
export function readAddress(hash = location.hash) {
  const [panel, , rest] = hash.slice(1).match(/^([a-z]*)(\?(.*))?$/s)?.slice(1) ?? [""];
  const fields = Object.fromEntries([...new URLSearchParams(rest ?? "")].map(([name, value]) => [name, value.slice(0, LONGEST)]));
  return { panel: panel ?? "", fields };
}

export function addressOf(panel, fields) {
  const kept = Object.entries(fields).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(kept).toString();
  return `${location.origin}${location.pathname}#${panel}${query && `?${query}`}`;
}

// Puts an address where it can be copied from; whether it is in the clipboard as well.
export async function offer(address) {
  history.replaceState(null, "", address);
  try {
    await navigator.clipboard.writeText(address);
    return true;
  } catch {
    return false; // without HTTPS, or where the user does not allow it
  }
}
