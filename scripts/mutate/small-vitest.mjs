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
  // Between title and body may stand options, behind them a time limit: neither matters here.
  const bodyOf = (given) => given.find((each) => typeof each === "function");
  const when =
    (isWanted) =>
    (title, ...given) => {
      if (isWanted) declare(title, bodyOf(given));
    };
  return Object.assign(when(true), {
    each:
      (rows) =>
      (title, ...given) => {
        const body = bodyOf(given);
        const areLists = rows.every(Array.isArray);
        for (const [index, row] of rows.entries()) {
          const values = areLists ? row : [row];
          declare(`${title} ${index}`, () => body(...values));
        }
      },
    skipIf: (isSkipped) => when(!isSkipped),
    runIf: when,
  });
}

const expect = Object.assign((value, message) => chai.expect(value, message), chai.expect, {
  unreachable: (message) => chai.assert.fail(`expected ${message ?? "this"} not to be reached`),
});
