/** A set of ASCII characters that tokens are written in. */
interface Alphabet {
  has(code: number): boolean;
  /** Gives the index after the run of these characters that starts at the index. */
  endOfRun(text: string, startIndex: number): number;
}

/** Makes an alphabet from the inside of a regular expression's character class. */
export function createAlphabet(characters: string): Alphabet {
  const member = new RegExp(`[${characters}]`);
  const isMember = new Uint8Array(128).map((_, code) => (member.test(String.fromCharCode(code)) ? 1 : 0));
  return {
    has: (code) => code < 128 && isMember[code] === 1,
    endOfRun: (text, startIndex) => {
      let index = startIndex;
      while (index < text.length) {
        const code = text.charCodeAt(index);
        if (code >= 128 || isMember[code] !== 1) break;
        index++;
      }
      return index;
    },
  };
}

export const HEX: Alphabet = createAlphabet("0-9a-fA-F");
export const DIGITS: Alphabet = createAlphabet("0-9");
export const UPPER: Alphabet = createAlphabet("A-Z0-9");
const LOWER: Alphabet = createAlphabet("a-z0-9");
export const ALPHANUMERIC: Alphabet = createAlphabet("A-Za-z0-9");
export const WORD: Alphabet = createAlphabet("A-Za-z0-9_-");
export const DOTTED: Alphabet = createAlphabet("A-Za-z0-9_.-");
export const PADDED: Alphabet = createAlphabet("A-Za-z0-9_.=-");
export const BASE64: Alphabet = createAlphabet("A-Za-z0-9+/=");
export const ANY_BASE64: Alphabet = createAlphabet("A-Za-z0-9_+/=-");
export const HEADER_TOKEN: Alphabet = createAlphabet("A-Za-z0-9_.+/=~-");

/** A token told by its fixed start: what follows must be at least so long, over `WORD` when no alphabet is given. */
export type PrefixFormat = readonly [prefix: string, type: string, minBodyChars: number, body?: Alphabet];

/** A token of several parts: a sticky pattern, tried where a text has one of the given starts of two characters. */
export interface PatternFormat {
  readonly type: string;
  readonly starts: readonly string[];
  readonly pattern: RegExp;
}

/** Tokens of model providers and the services around them that a fixed start tells apart. */
export const AI_PREFIXES: readonly PrefixFormat[] = [
  ["sk-ant-", "anthropic-key", 24],
  ["sk-proj-", "openai-key", 24],
  ["sk-svcacct-", "openai-key", 24],
  ["sk-admin-", "openai-key", 24],
  ["sk-None-", "openai-key", 24],
  ["sk-or-", "openrouter-key", 24],
  ["sk-lf-", "langfuse-key", 24],
  ["sk-helicone-", "helicone-key", 20],
  ["sk-", "api-key", 20],
  ["sess-", "openai-session", 36, ALPHANUMERIC],
  ["gsk_", "groq-key", 32, ALPHANUMERIC],
  ["xai-", "xai-key", 40],
  ["pplx-", "perplexity-key", 32, ALPHANUMERIC],
  ["hf_", "huggingface-token", 24, ALPHANUMERIC],
  ["api_org_", "huggingface-token", 24, ALPHANUMERIC],
  ["r8_", "replicate-token", 30],
  ["fw_", "fireworks-key", 20, ALPHANUMERIC],
  ["csk-", "cerebras-key", 32, ALPHANUMERIC],
  ["tgp_v1_", "together-key", 24],
  ["pa-", "voyage-key", 38],
  ["al-", "voyage-key", 38],
  ["tvly-", "tavily-key", 24],
  ["lsv2_", "langsmith-key", 32],
  ["ls__", "langsmith-key", 24],
  ["pcsk_", "pinecone-key", 40],
  ["nvapi-", "nvidia-key", 32],
  ["esecret_", "anyscale-key", 20],
  ["fc-", "firecrawl-key", 32, HEX],
  ["jina_", "jina-key", 32],
  ["e2b_", "e2b-key", 32, HEX],
  ["ak-", "modal-token", 22, ALPHANUMERIC],
  ["as-", "modal-token", 22, ALPHANUMERIC],
  ["wandb_v1_", "wandb-key", 32],
  ["m0-", "mem0-key", 32, ALPHANUMERIC],
  ["apify_api_", "apify-token", 24],
  ["phx_", "posthog-key", 30],
  ["phs_", "posthog-key", 30],
  ["cog_", "cognition-key", 40],
  ["ABSKQmVkcm9ja0FQSUtleS", "aws-bedrock-key", 40, ANY_BASE64],
];

/** Tokens of cloud platforms, hosting, databases and infrastructure tools that a fixed start tells apart. */
export const CLOUD_PREFIXES: readonly PrefixFormat[] = [
  ["AKIA", "aws-key", 16, UPPER],
  ["ASIA", "aws-key", 16, UPPER],
  ["ABIA", "aws-key", 16, UPPER],
  ["ACCA", "aws-key", 16, UPPER],
  ["A3T", "aws-key", 17, UPPER],
  ["ABSK", "aws-bedrock-key", 80, ANY_BASE64],
  ["bedrock-api-key-", "aws-bedrock-key", 40, ANY_BASE64],
  ["FwoGZXIvYXdz", "aws-session-token", 60, ANY_BASE64],
  ["IQoJb3JpZ2lu", "aws-session-token", 60, ANY_BASE64],
  ["AIza", "google-api-key", 30],
  ["GOCSPX-", "google-oauth-secret", 20],
  ["ya29.", "google-access-token", 20, DOTTED],
  ["AQVN", "yandex-key", 30],
  ["YCAJE", "yandex-key", 20],
  ["YCA", "yandex-key", 38],
  ["LTAI", "alibaba-key", 12, ALPHANUMERIC],
  ["AKID", "tencent-key", 28, ALPHANUMERIC],
  ["AKLT", "volcengine-key", 20, ALPHANUMERIC],
  ["dop_v1_", "digitalocean-token", 32, HEX],
  ["doo_v1_", "digitalocean-token", 32, HEX],
  ["dor_v1_", "digitalocean-token", 32, HEX],
  ["dos_v1_", "digitalocean-token", 32, HEX],
  ["HRKU-", "heroku-key", 30],
  ["fm1a_", "fly-token", 40, ANY_BASE64],
  ["fm1r_", "fly-token", 40, ANY_BASE64],
  ["fm2_", "fly-token", 40, ANY_BASE64],
  ["fo1_", "fly-token", 30],
  ["dapi", "databricks-token", 32, HEX],
  ["dose", "databricks-token", 32, HEX],
  ["dkea", "databricks-token", 32, HEX],
  ["vcp_", "vercel-token", 24],
  ["vci_", "vercel-token", 24],
  ["vca_", "vercel-token", 24],
  ["vcr_", "vercel-token", 24],
  ["vck_", "vercel-token", 24],
  ["vercel_blob_rw_", "vercel-token", 20],
  ["nfp_", "netlify-token", 30],
  ["nfc_", "netlify-token", 30],
  ["nfo_", "netlify-token", 30],
  ["nfu_", "netlify-token", 30],
  ["nfb_", "netlify-token", 30],
  ["rnd_", "render-key", 24],
  ["sbp_", "supabase-token", 32],
  ["sb_secret_", "supabase-key", 20],
  ["pscale_", "planetscale-token", 30, PADDED],
  ["napi_", "neon-key", 32],
  ["mdb_sa_sk_", "mongodb-atlas-secret", 24],
  ["tskey-", "tailscale-key", 20],
  ["tk-us-", "scalingo-token", 40],
  ["SCW", "scaleway-key", 17, UPPER],
  ["EXO", "exoscale-key", 24, LOWER],
  ["akab-", "akamai-token", 24],
  ["cfut_", "cloudflare-token", 32],
  ["cfat_", "cloudflare-token", 32],
  ["cfk_", "cloudflare-token", 32],
  ["hvs.", "vault-token", 20],
  ["hvb.", "vault-token", 20],
  ["hvr.", "vault-token", 20],
  ["dp.pt.", "doppler-token", 24],
  ["dp.st.", "doppler-token", 24, DOTTED],
  ["dp.ct.", "doppler-token", 24],
  ["dp.sa.", "doppler-token", 24],
  ["dp.scim.", "doppler-token", 24],
  ["dp.audit.", "doppler-token", 24],
  ["dp.said.", "doppler-token", 24],
  ["pul-", "pulumi-token", 32, LOWER],
  ["AGE-SECRET-KEY-", "age-key", 40, UPPER],
  ["AGE-PLUGIN-", "age-key", 40],
  ["ops_eyJ", "1password-token", 60, ANY_BASE64],
  ["dnkey-", "defined-networking-key", 60, PADDED],
  ["pnu_", "prefect-key", 30],
  ["pnb_", "prefect-key", 30],
  ["ico-", "infracost-key", 28, ALPHANUMERIC],
  ["essu_", "elastic-key", 40, ANY_BASE64],
  ["essa_", "elastic-key", 40, ANY_BASE64],
  ["dbtc_", "dbt-token", 24],
  ["dbtu_", "dbt-token", 24],
  ["salad_cloud_", "saladcloud-key", 24],
  ["dls_", "dashlane-key", 40],
  ["infisical_", "infisical-token", 24],
  ["rpa_", "runpod-key", 32],
  ["SWMTKN-1-", "docker-swarm-token", 40],
  ["ory_at_", "ory-token", 30, DOTTED],
  ["ory_pat_", "ory-token", 24],
  ["ory_apikey_", "ory-token", 24],
  ["b3BlbnNzaC1rZXktdjE", "private-key", 60, ANY_BASE64],
  ["LS0tLS1CRUdJTiBSU0EgUFJJVkFUR", "private-key", 20, ANY_BASE64],
  ["LS0tLS1CRUdJTiBEU0EgUFJJVkFUR", "private-key", 20, ANY_BASE64],
  ["LS0tLS1CRUdJTiBFQyBQUklWQVRF", "private-key", 20, ANY_BASE64],
  ["LS0tLS1CRUdJTiBQUklWQVRF", "private-key", 20, ANY_BASE64],
  ["LS0tLS1CRUdJTiBPUEVOU1NI", "private-key", 20, ANY_BASE64],
  ["LS0tLS1CRUdJTiBFTkNSWVBURUQ", "private-key", 20, ANY_BASE64],
  ["LS0tLS1CRUdJTiBQR1AgUFJJVkFUR", "private-key", 20, ANY_BASE64],
  ["xprv", "wallet-key", 100, ALPHANUMERIC],
  ["yprv", "wallet-key", 100, ALPHANUMERIC],
  ["zprv", "wallet-key", 100, ALPHANUMERIC],
  ["tprv", "wallet-key", 100, ALPHANUMERIC],
];

/** Tokens of the same families that are made of several parts. */
export const CLOUD_PATTERNS: readonly PatternFormat[] = [
  { type: "cloudflare-key", starts: ["v1"], pattern: /v1\.0-[a-f0-9]{24}-[a-f0-9]{40,}/y },
  { type: "vault-token", starts: ["s."], pattern: /s\.(?=(?:[A-Za-z]*\d){3})[A-Za-z0-9]{24}(?![\w.-])/y },
  {
    type: "1password-secret-key",
    starts: ["A3"],
    pattern: /A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}/y,
  },
  { type: "yandex-token", starts: ["t1"], pattern: /t1\.[\w-]{4,}={0,2}\.[\w-]{60,}={0,2}/y },
  { type: "yandex-token", starts: ["y0", "y1", "y2", "y3"], pattern: /y[0-3]_[\w-]{50,}/y },
  {
    type: "bitwarden-token",
    starts: ["0."],
    pattern: /0\.[a-f0-9-]{36}\.[A-Za-z0-9]{20,}:[A-Za-z0-9+/]{20,64}={0,2}/y,
  },
  {
    type: "infisical-token",
    starts: ["st"],
    pattern: /st\.[a-f0-9-]{20,40}\.[a-f0-9]{24,}(?:\.[a-f0-9]{20,})?/y,
  },
  { type: "linode-token", starts: ["LI"], pattern: /LINODE-[A-Za-z0-9]{32,}/y },
  { type: "ibm-key", starts: ["Ap"], pattern: /ApiKey-[a-f0-9-]{36}/y },
];

/** Tokens of version control, package registries, build and quality services that a fixed start tells apart. */
export const CODE_PREFIXES: readonly PrefixFormat[] = [
  ["ghp_", "github-token", 20, ALPHANUMERIC],
  ["gho_", "github-token", 20, ALPHANUMERIC],
  ["ghu_", "github-token", 20, ALPHANUMERIC],
  ["ghs_", "github-token", 20],
  ["ghr_", "github-token", 20, ALPHANUMERIC],
  ["github_pat_", "github-token", 22],
  ["glpat-", "gitlab-token", 16],
  ["glptt-", "gitlab-token", 16],
  ["gldt-", "gitlab-token", 16],
  ["glrt-", "gitlab-token", 16],
  ["glrtr-", "gitlab-token", 16],
  ["glcbt-", "gitlab-token", 16],
  ["glft-", "gitlab-token", 16],
  ["glimt-", "gitlab-token", 16],
  ["glagent-", "gitlab-token", 20],
  ["gloas-", "gitlab-token", 20],
  ["glsoat-", "gitlab-token", 16],
  ["glffct-", "gitlab-token", 16],
  ["glwt-", "gitlab-token", 16],
  ["GR1348941", "gitlab-token", 16],
  ["ATBB", "bitbucket-password", 24, ALPHANUMERIC],
  ["ATATT3", "atlassian-token", 24, ANY_BASE64],
  ["ATCTT3", "atlassian-token", 24, ANY_BASE64],
  ["ATSTT3", "atlassian-token", 24, ANY_BASE64],
  ["ATOA", "atlassian-token", 60],
  ["ATTA", "trello-token", 60, HEX],
  ["npm_", "npm-token", 30, ALPHANUMERIC],
  ["pypi-AgE", "pypi-token", 40],
  ["pypi-", "pypi-token", 60],
  ["rubygems_", "rubygems-key", 32, ALPHANUMERIC],
  ["cio", "crates-token", 32, ALPHANUMERIC],
  ["oy2", "nuget-key", 43, LOWER],
  ["dckr_pat_", "docker-token", 20],
  ["dckr_oat_", "docker-token", 20],
  ["CLOJARS_", "clojars-token", 40],
  ["packagist_", "packagist-token", 40],
  ["ovsxat_", "openvsx-token", 24],
  ["ddp_", "deno-token", 30, ALPHANUMERIC],
  ["ddo_", "deno-token", 30, ALPHANUMERIC],
  ["ddw_", "deno-token", 30, ALPHANUMERIC],
  ["jsrp_", "jsr-token", 30],
  ["AKCp", "artifactory-key", 60, ALPHANUMERIC],
  ["cmVmd", "artifactory-token", 50, ALPHANUMERIC],
  ["CCIPAT_", "circleci-token", 30],
  ["CCIPRJ_", "circleci-token", 30],
  ["bkua_", "buildkite-token", 32],
  ["bkaj_", "buildkite-token", 32],
  ["bkct_", "buildkite-token", 32],
  ["bkpt_", "buildkite-token", 32],
  ["squ_", "sonarqube-token", 32, HEX],
  ["sqp_", "sonarqube-token", 32, HEX],
  ["sqa_", "sonarqube-token", 32, HEX],
  ["sgp_", "sourcegraph-token", 32],
  ["slk_", "sourcegraph-token", 32],
  ["snyk_", "snyk-token", 24],
  ["API-", "octopus-key", 26, UPPER],
  ["chpt_", "chromatic-token", 10, ALPHANUMERIC],
  ["perm-", "jetbrains-token", 40, ANY_BASE64],
  ["lin_api_", "linear-key", 24],
  ["lin_oauth_", "linear-token", 24],
  ["lin_wh_", "linear-secret", 24],
  ["PMAK-", "postman-key", 40],
  ["PMAT-", "postman-token", 20],
  ["figd_", "figma-token", 30, PADDED],
  ["figp_", "figma-token", 30, PADDED],
  ["figu_", "figma-token", 30, PADDED],
  ["figo_", "figma-token", 30],
  ["figr_", "figma-token", 30],
  ["rootly_", "rootly-key", 32, HEX],
  ["thog-key-", "trufflehog-key", 16, HEX],
  ["rdme_", "readme-key", 40],
  ["CFPAT-", "contentful-token", 30],
  ["crsr_", "cursor-key", 32],
];

/** Tokens of the same families that are made of several parts. */
export const CODE_PATTERNS: readonly PatternFormat[] = [
  { type: "bitbucket-token", starts: ["BB"], pattern: /BBDC-[\w+/@-]{40,60}/y },
  { type: "github-token", starts: ["v1"], pattern: /v1\.[0-9a-f]{40}(?!\w)/y },
  { type: "clickup-token", starts: ["pk"], pattern: /pk_\d{5,10}_[A-Z0-9]{24,}/y },
  {
    type: "harness-token",
    starts: ["pa", "sa"],
    pattern: /[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}/y,
  },
  {
    type: "authress-key",
    starts: ["sc", "ex", "au"],
    pattern:
      /(?:sc|ext|scauth|authress)_[a-zA-Z0-9]{5,30}\.[a-zA-Z0-9]{4,6}\.acc[_-][\w-]{10,32}\.[\w+/=-]{30,120}/y,
  },
];
