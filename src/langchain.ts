export {
  type CarryoverMiddleware,
  type CarryoverMiddlewareOptions,
  carryoverMiddleware,
  type MiddlewareSummarizer,
} from "./hosts/langchain/carryover-middleware.ts";
export type { ChatModelLike } from "./hosts/langchain/chat-model.ts";
export { GiveUpError } from "./middleware/wrap-model.ts";
