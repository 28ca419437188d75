import { TRUSTED_NAME } from "./trusted-name.ts";

/**
 * Opens a worker that runs the page's own script: from where the page got it, or from its text where the
 * page is one file. Throws where there can be no worker.
 */
export function openWorker(script: HTMLScriptElement): Worker {
  const address =
    script.src === ""
      ? URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }))
      : script.src;
  return new Worker(trusted(address), { name: "carryover engine" });
}

/** The page's policy lets no text become the address of a script; this is the exception, for this address alone. */
function trusted(address: string): string {
  const { trustedTypes } = globalThis as unknown as TrustedScope;
  return (
    trustedTypes?.createPolicy(TRUSTED_NAME, { createScriptURL: () => address }).createScriptURL("") ??
    address
  );
}

/** Only some browsers have trusted types; where they do, what a policy gives stands for a string. */
interface TrustedScope {
  readonly trustedTypes?: {
    createPolicy(
      name: string,
      rules: { readonly createScriptURL: () => string },
    ): { createScriptURL(input: string): string };
  };
}
