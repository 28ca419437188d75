import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { lastTurn, type TurnSettings } from "../forks/child-session.ts";

/** The settings of the newest turn that a person began; of any turn where there is none. */
export function lastUserTurn(messages: readonly SessionMessage[]): TurnSettings {
  const spoken = messages.filter(
    ({ info, parts }) =>
      info.role === "user" && parts.some((part) => part.type === "text" && part.synthetic !== true),
  );
  return lastTurn(spoken.length === 0 ? messages : spoken);
}
