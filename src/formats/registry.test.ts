import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { formatOf } from "./read-transcript.ts";
import { API_FORMATS, type FormatName, SESSION_FORMATS } from "./registry.ts";

const names = [...Object.keys(SESSION_FORMATS), ...Object.keys(API_FORMATS)] as FormatName[];

it.each(names)("%s has the name it is found by, and takes whatever it is given", (name) => {
  const format = formatOf(name);
  expect(format.name).toBe(name);
  for (const wire of [undefined, null, 4, "x", [], {}, [null, 4, [], {}], { messages: 4, history: 4 }])
    expect(Array.isArray(format.decode(wire))).toBe(true);
});

it.each(["README.md", "docs/cli.md"])("%s names every agent and API whose files are read", (page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  const agents = Object.values(SESSION_FORMATS).map(({ agent }) => agent);
  const apis = Object.values(API_FORMATS).map(({ api }) => api);
  expect([...agents, ...apis].filter((each) => !text.includes(each))).toEqual([]);
});
