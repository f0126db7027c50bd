// The OpenAPI document as a page: every address, its fields, its responses, and a way to try it.

import { node } from "./nodes.js";
import { ask, useKey } from "./asking.js";

const place = document.getElementById("operations");
let schemas = {};

// A text with what stands between backticks as code.
const written = (text) => text.split("`").map((part, place) => (place % 2 ? node("code", { text: part }) : part));

const resolved = (schema) => (schema?.$ref ? schemas[schema.$ref.split("/").pop()] : schema) ?? {};

function kindOf(schema) {
  if (schema?.$ref) return schema.$ref.split("/").pop();
  const found = resolved(schema);
  if (found.anyOf) return [...new Set(found.anyOf.map(kindOf))].join(" | ");
  if (found.enum) return found.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (found.type === "array") return `[${kindOf(found.items)}]`;
  return found.type ?? "any";
}

// The smallest body that a schema allows, with its required fields alone.
function exampleOf(schema, name = "") {
  const found = resolved(schema);
  if (found.anyOf) return exampleOf(found.anyOf[0], name);
  if (found.enum) return found.enum[0];
  if (found.type === "string") return name === "model" ? "match-en" : "How do I learn to play the guitar?";
  if (found.type === "integer" || found.type === "number") return found.minimum ?? 1;
  if (found.type === "boolean") return false;
  if (found.type === "array") return Array(found.minItems ?? 1).fill(null).map(() => exampleOf(found.items, name));
  if (found.type !== "object") return null;
  return Object.fromEntries((found.required ?? []).map((field) => [field, exampleOf(found.properties[field], field)]));
}

function fieldsOf(schema) {
  const found = resolved(schema);
  const shapes = found.anyOf ? found.anyOf.map(resolved) : [found];
  return shapes.filter((shape) => shape.properties).map((shape) => {
    const rows = Object.entries(shape.properties).map(([name, field]) =>
      node(
        "tr",
        {},
        node("th", { scope: "row" }, node("code", { text: name })),
        node("td", {}, node("code", { text: kindOf(field) })),
        node("td", { text: (shape.required ?? []).includes(name) ? "required" : `default ${JSON.stringify(field.default ?? null)}` }),
      ),
    );
    return node("table", { class: "fields" }, node("caption", {}, ...written(shape.description ?? shape.title ?? "")), node("tbody", {}, ...rows));
  });
}

function trial(method, path, schema) {
  const result = node("pre", { hidden: "", "aria-live": "polite" });
  const button = node("button", { type: "button", text: "Try it" });
  const parts = [button, result];
  let body = null;
  if (schema) {
    body = node("textarea", { class: "body", rows: "6", spellcheck: "false", "aria-label": `Body for ${path}` });
    body.value = JSON.stringify(exampleOf(schema), null, 2);
    parts.unshift(body);
  }
  button.addEventListener("click", async () => {
    result.hidden = false;
    try {
      const found = await ask(path, body ? JSON.parse(body.value) : undefined);
      result.textContent = JSON.stringify(found, null, 2).slice(0, 20_000);
    } catch (fault) {
      result.textContent = `${fault.status ?? ""} ${fault.message}`.trim();
    }
  });
  return parts;
}

// An address with the first allowed value of each of its parameters.
const filled = (path, parameters = []) =>
  parameters.reduce((made, each) => made.replace(`{${each.name}}`, encodeURIComponent((each.schema.enum ?? each.schema.examples)[0])), path);

function operation(path, method, found) {
  const schema = found.requestBody?.content["application/json"].schema;
  const head = node("summary", {}, node("span", { class: `method ${method.toUpperCase()}`, text: method.toUpperCase() }), node("code", { text: path }), node("span", { class: "quiet" }, ...written(found.description ?? found.summary ?? "")));
  const statuses = Object.entries(found.responses).map(([status, answer]) => node("tr", {}, node("th", { scope: "row", text: status }), node("td", {}, ...written(answer.description))));
  const answers = node("table", { class: "fields" }, node("caption", { text: "Answers" }), node("tbody", {}, ...statuses));
  const parts = node("div", { class: "parts" }, ...(schema ? fieldsOf(schema) : []), answers, ...(path === "/metrics" ? [] : trial(method, filled(path, found.parameters), schema)));
  return node("details", { class: "panel" }, head, parts);
}

async function start() {
  const found = await ask("/openapi.json");
  schemas = found.components?.schemas ?? {};
  document.getElementById("about").textContent = `${found.info.description} Version ${found.info.version}.`;
  const groups = new Map();
  for (const [path, methods] of Object.entries(found.paths)) {
    for (const [method, each] of Object.entries(methods)) {
      const tag = each.tags?.[0] ?? "";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(path, method, each));
    }
  }
  for (const [tag, made] of groups) place.append(node("h2", { text: tag }), ...made);
}

document.getElementById("key-form").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("key").addEventListener("input", (event) => useKey(event.target.value));
start();
