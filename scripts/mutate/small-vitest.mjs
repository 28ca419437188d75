import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";
import * as chai from "chai";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** What the tests of the mutated rooms use of vitest, as an object that collects the tests of one evaluation. */
export function createSmallVitest() {
  const tests = [];
  const titles = [];
  let file = "";

  function describe(title, body) {
    titles.push(title);
    body();
    titles.pop();
  }

  function it(title, body) {
    tests.push({ id: `${file}#${[...titles, title].join(" ")}`, file, body });
  }

  return {
    tests,
    enter: (path) => {
      file = path;
    },
    exports: { describe: withTables(describe), it: withTables(it), test: withTables(it), expect },
  };
}

function withTables(declare) {
  return Object.assign((title, body) => declare(title, body), {
    each: (rows) => (title, body) => {
      const areLists = rows.every(Array.isArray);
      for (const [index, row] of rows.entries()) {
        const values = areLists ? row : [row];
        declare(`${title} ${index}`, () => body(...values));
      }
    },
    skipIf: (isSkipped) => (title, body) => {
      if (!isSkipped) declare(title, body);
    },
  });
}

const expect = Object.assign((value, message) => chai.expect(value, message), chai.expect, {
  unreachable: (message) => chai.assert.fail(`expected ${message ?? "this"} not to be reached`),
});
