import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./read-interface.ts";
import { sessionPage } from "./session-page.ts";
import { settingsPage, writeDefaultTags } from "./settings-page.ts";

writeDefaultTags();
writeFileSync(join(root, "docs/settings.md"), settingsPage());
writeFileSync(join(root, "docs/session.md"), sessionPage());
