import { anyText, NO_OPTIONS, optionsCheck, type Shape } from "../../text/check.ts";
import {
  type ClassifyOptions,
  classifyProviderError as classify,
  type ProviderErrorReport,
} from "./classify-provider-error.ts";

/**
 * What kind of error a provider sent, and the token counts that it gave. Takes the error as it was caught: an Error, a
 * response body, a text, a stream event. Throws only for options that cannot be used.
 */
export function classifyProviderError(
  error: unknown,
  options: ClassifyOptions = NO_OPTIONS,
): ProviderErrorReport {
  checkOptions(options);
  return classify(error, options);
}

/** True when the provider refused the request because its tokens do not fit. */
export function isContextLengthExceeded(error: unknown, options: ClassifyOptions = NO_OPTIONS): boolean {
  return classifyProviderError(error, options).isOverflow;
}

const checkOptions = optionsCheck({ provider: anyText } satisfies Shape<ClassifyOptions>);
