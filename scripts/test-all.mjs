import { step } from "./run.mjs";

// Before an issue is called resolved: everything, properties with all their runs, tables and the long stories.
process.env.CARRYOVER_LONG = "1";
step("npm test", "npm", ["test"]);
step("npm run test:hosts", "npm", ["run", "test:hosts"]);
step("the middleware with ai 7", "npm", ["run", "test:ai7"]);
step("random histories for each provider", "npm", ["run", "fuzz"]);
step("random conversations through the middleware", "npm", ["run", "fuzz:ai-sdk"]);
