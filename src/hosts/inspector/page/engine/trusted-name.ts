/** The one Trusted Types policy that the page's content security policy lets anybody make. */
export const TRUSTED_NAME = "carryover-engine";
