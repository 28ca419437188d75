import { describe, expect, it } from "vitest";
import { createAccess } from "./access.ts";

describe("createAccess", () => {
  it("swaps an invitation once for a token that works again and again", () => {
    const access = createAccess();
    const invitation = access.invite();
    const token = access.exchange(invitation) ?? "";
    expect(token).not.toBe(invitation);
    expect(access.exchange(invitation)).toBeUndefined();
    for (const scheme of ["Bearer", "bearer"]) expect(access.allows(`${scheme} ${token}`)).toBe(true);
  });

  it("does not let in what is only nearly right", () => {
    const access = createAccess();
    const invitation = access.invite();
    const token = access.exchange(access.invite()) ?? "";
    const wrong = [
      undefined,
      "",
      token,
      "Bearer",
      "Bearer ",
      `Bearer  ${token}`,
      `Bearer ${token} `,
      `Bearer ${token}, Bearer x`,
      `Bearer ${token}=`,
      `Bearer ${token.slice(1)}`,
      `Bearer ${token.toUpperCase()}`,
      `Bearer ${invitation}`,
      `Basic ${token}`,
    ];
    expect(wrong.filter((value) => access.allows(value))).toEqual([]);
    expect(access.exchange(token)).toBeUndefined();
    expect(access.exchange("")).toBeUndefined();
  });

  it("keeps invitations apart", () => {
    const access = createAccess();
    const [first, second] = [access.invite(), access.invite()];
    expect(access.exchange(second)).toBeDefined();
    expect(access.exchange(first)).toBeDefined();
    expect(createAccess().exchange(first)).toBeUndefined();
  });
});
