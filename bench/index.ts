import { benchFork } from "./fork.bench.ts";

await benchFork();
