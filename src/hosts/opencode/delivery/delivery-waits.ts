import type { DeliveryWaits } from "../../../tasks/plan-delivery.ts";

/** The waits of a delivery, shortened where a test says so in the environment; no option, since nobody else has a reason to. */
export function readDeliveryWaits(env: Readonly<Record<string, string | undefined>>): DeliveryWaits {
  const busyMs = Number(env.CARRYOVER_TEST_BUSY_MS);
  const answerMs = Number(env.CARRYOVER_TEST_ANSWER_MS);
  return { ...(busyMs > 0 ? { busyMs } : {}), ...(answerMs > 0 ? { answerMs } : {}) };
}
