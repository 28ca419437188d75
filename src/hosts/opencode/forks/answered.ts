import type { HostAnswer } from "../host-calls.ts";
import type { HostValue } from "./child-session.ts";

/** The answer; throws where none came: it may have been done all the same, and the next attempt looks first. */
export function answered<Answer extends HostAnswer | HostValue<unknown>>(answer: Answer): Answer {
  if (answer.status === "failed" && answer.code === "no-answer") throw new Error(answer.reason);
  return answer;
}

/** The answer; throws unless it was done, or there is nothing any more that it could be done to. */
export function doneOrGone<Answer extends HostAnswer | HostValue<unknown>>(answer: Answer): Answer {
  if (answer.status === "failed" && answer.code !== 404) throw new Error(answer.reason);
  return answer;
}
