import {
  ALPHANUMERIC,
  type Alphabet,
  ANY_BASE64,
  DOTTED,
  HEX,
  LOWER,
  PADDED,
  UPPER,
  URL_ENCODED,
  WORD,
} from "./alphabet.ts";

/**
 * Tokens with a fixed prefix: what their body is written in, how many characters of it there are at least, and each
 * type with its prefixes.
 */
export const PREFIX_FORMATS: readonly (readonly [body: Alphabet, minBodyChars: number, types: string])[] = [
  [
    WORD,
    10,
    "flutterwave-key FLWSECK_TEST-,razorpay-key rzp_live_," +
      "slack-token xoxb- xoxp- xoxa- xoxr- xoxo- xoxs- xoxc- xoxe-," +
      "stripe-key sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
  ],
  [
    WORD,
    16,
    "gitlab-token glpat- glptt- gldt- glrt- glrtr- glcbt- glft- glimt- glsoat- glffct- glwt- GR1348941," +
      "settlemint-token sm_pat_ sm_aat_ sm_sat_,slack-token xapp-,trigger-key tr_prod_ tr_dev_",
  ],
  [
    WORD,
    20,
    "anyscale-key esecret_,api-key sk-,docker-token dckr_pat_ dckr_oat_,flutterwave-key FLWSECK-," +
      "github-token ghs_,gitlab-token glagent- gloas-,google-oauth-secret GOCSPX-," +
      "helicone-key sk-helicone-,lob-key lob_live_,newrelic-key NRSP-,pagerduty-key pdus+_," +
      "postman-token PMAT-,slack-token xoxe.xoxb- xoxe.xoxp-,square-secret sq0csp-,square-token sq0atp-," +
      "supabase-key sb_secret_,tailscale-key tskey-,vault-token hvs. hvb. hvr.," +
      "vercel-token vercel_blob_rw_,yandex-key YCAJE",
  ],
  [WORD, 22, "github-token github_pat_,mandrill-key md-"],
  [
    WORD,
    24,
    "akamai-token akab-,alchemy-token alcht_,anthropic-key sk-ant-,api-key sk_,apify-token apify_api_," +
      "cal-key cal_live_,censys-key censys_,dbt-token dbtc_ dbtu_," +
      "doppler-token dp.pt. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.,infisical-token infisical_," +
      "langfuse-key sk-lf-,langsmith-key ls__,linear-key lin_api_,linear-secret lin_wh_," +
      "linear-token lin_oauth_,mongodb-atlas-secret mdb_sa_sk_,newrelic-key NRII- NRIQ-," +
      "openai-key sk-proj- sk-svcacct- sk-admin- sk-None-,openrouter-key sk-or-,openvsx-token ovsxat_," +
      "ory-token ory_pat_ ory_apikey_,paddle-key pdl_live_ pdl_sdbx_,render-key rnd_," +
      "retool-token retool_,saladcloud-key salad_cloud_,shopify-secret shpss_," +
      "shopify-token shpat_ shpca_ shppa_ shpua_ shprt_ shptka_,snyk-token snyk_," +
      "stytch-secret secret-live- secret-test-,tavily-key tvly-,together-key tgp_v1_," +
      "trigger-key tr_pat_,vercel-token vcp_ vci_ vca_ vcr_ vck_",
  ],
  [
    WORD,
    30,
    "axiom-token xaat- xapt-,circleci-token CCIPAT_ CCIPRJ_,contentful-token CFPAT-," +
      "datadog-key ddapp_ ddapi_,figma-token figo_ figr_,flexport-token shltm_,fly-token fo1_," +
      "google-api-key AIza,heroku-key HRKU-,jsr-token jsrp_,netlify-token nfp_ nfc_ nfo_ nfu_ nfb_," +
      "posthog-key phx_ phs_,prefect-key pnu_ pnb_,pubnub-key sec-c-,replicate-token r8_," +
      "shippo-token shippo_live_ shippo_test_,yandex-key AQVN,zuplo-key zpka_",
  ],
  [
    WORD,
    32,
    "buildkite-token bkua_ bkaj_ bkct_ bkpt_,cloudflare-token cfut_ cfat_ cfk_,cursor-key crsr_," +
      "duffel-token duffel_,grafana-token glsa_,inngest-key signkey-prod- signkey-branch-," +
      "jina-key jina_,langsmith-key lsv2_,neon-key napi_,nvidia-key nvapi-,runpod-key rpa_," +
      "sourcegraph-token sgp_ slk_,supabase-token sbp_,wandb-key wandb_v1_",
  ],
  [WORD, 38, "voyage-key pa- al-,yandex-key YCA"],
  [
    WORD,
    40,
    "age-key AGE-PLUGIN-,brevo-key xkeysib- xsmtpsib-,clojars-token CLOJARS_,cognition-key cog_," +
      "dashlane-key dls_,docker-swarm-token SWMTKN-1-,honeycomb-key hcaik_ hcbik_ hcxik_ hcamk_," +
      "mailersend-token mlsn.,packagist-token packagist_,pinecone-key pcsk_,postman-key PMAK-," +
      "pypi-token pypi-AgE,readme-key rdme_,scalingo-token tk-us-,xai-key xai-",
  ],
  [WORD, 56, "square-token EAAA"],
  [
    WORD,
    60,
    "atlassian-token ATOA,discord-token mfa.,intra42-secret s-s4t2,onesignal-key os_v2_," +
      "pypi-token pypi-",
  ],
  [WORD, 80, "instagram-token IGQ"],
  [ALPHANUMERIC, 12, "alibaba-key LTAI,chromatic-token chpt_"],
  [ALPHANUMERIC, 16, "endor-key endr+"],
  [ALPHANUMERIC, 20, "fireworks-key fw_,github-token ghp_ gho_ ghu_ ghr_,volcengine-key AKLT"],
  [ALPHANUMERIC, 22, "modal-token ak- as-"],
  [ALPHANUMERIC, 24, "adafruit-key aio_,bitbucket-password ATBB,huggingface-token hf_ api_org_"],
  [ALPHANUMERIC, 28, "infracost-key ico-,tencent-key AKID"],
  [ALPHANUMERIC, 30, "adobe-secret p8e-,deno-token ddp_ ddo_ ddw_,npm-token npm_,ubidots-token BBFF-"],
  [
    ALPHANUMERIC,
    32,
    "cerebras-key csk-,crates-token cio,groq-key gsk_,mem0-key m0-,perplexity-key pplx-," +
      "rubygems-key rubygems_,statsig-secret secret-",
  ],
  [ALPHANUMERIC, 36, "notion-token ntn_ secret_,openai-session sess-"],
  [ALPHANUMERIC, 50, "artifactory-token cmVmd,easypost-key EZAK EZTK"],
  [ALPHANUMERIC, 60, "artifactory-key AKCp,facebook-token EAA"],
  [ALPHANUMERIC, 100, "wallet-key xprv yprv zprv tprv"],
  [HEX, 16, "newrelic-key NRJS- NRBR- NRAA- NRRA-,trufflehog-key thog-key-"],
  [HEX, 30, "cal-key cal_,mailgun-key key-"],
  [
    HEX,
    32,
    "databricks-token dapi dose dkea,digitalocean-token dop_v1_ doo_v1_ dor_v1_ dos_v1_,e2b-key e2b_," +
      "firecrawl-key fc-,rootly-key rootly_,sentry-token sntryu_ sntrya_ sntryi_," +
      "sonarqube-token squ_ sqp_ sqa_",
  ],
  [HEX, 60, "trello-token ATTA"],
  [UPPER, 16, "aws-key AKIA ASIA ABIA ACCA A3T,newrelic-key NRAK-,scaleway-key SCW"],
  [UPPER, 26, "octopus-key API-"],
  [UPPER, 40, "age-key AGE-SECRET-KEY-"],
  [LOWER, 24, "exoscale-key EXO,pulumi-token pul-"],
  [LOWER, 43, "nuget-key oy2"],
  [DOTTED, 20, "doppler-token dp.st.,google-access-token ya29."],
  [DOTTED, 30, "edgedb-key nbwt1_ edbt1_,ory-token ory_at_"],
  [DOTTED, 60, "dynatrace-token dt0c01. dt0s,salesforce-token 5Aep861"],
  [
    PADDED,
    30,
    "duffel-token duffel_live_ duffel_test_,figma-token figd_ figp_ figu_,frameio-token fio-u-," +
      "planetscale-token pscale_,typeform-token tfp_",
  ],
  [PADDED, 60, "defined-networking-key dnkey-,dropbox-token sl.u. sl."],
  [ANY_BASE64, 20, "atlassian-token ATATT3 ATCTT3 ATSTT3,webhook-secret whsec_"],
  [
    ANY_BASE64,
    40,
    "aws-bedrock-key bedrock-api-key-,elastic-key essu_ essa_,fly-token fm1a_ fm1r_ fm2_," +
      "grafana-key eyJrIjoi,grafana-token glc_,jetbrains-token perm-,metabase-key mb_,sentry-token sntrys_",
  ],
  [ANY_BASE64, 50, "intercom-token dG9rO"],
  [
    ANY_BASE64,
    60,
    "1password-token ops_eyJ,aws-session-token FwoGZXIvYXdz IQoJb3JpZ2lu," +
      "private-key b3BlbnNzaC1rZXktdjE",
  ],
  [ANY_BASE64, 80, "aws-bedrock-key ABSK"],
  [URL_ENCODED, 10, "slack-token xoxd-"],
];

/** Tokens of several parts: their type, the pairs of characters they start with, and a sticky pattern. */
export type PatternFormat = readonly [type: string, starts: string, pattern: RegExp];

export const PATTERN_FORMATS: readonly PatternFormat[] = [
  ["cloudflare-key", "v1", /v1\.0-[a-f0-9]{24}-[a-f0-9]{40,}/y],
  ["vault-token", "s.", /s\.(?=(?:[A-Za-z]*\d){3})[A-Za-z0-9]{24}(?![\w.-])/y],
  [
    "1password-secret-key",
    "A3",
    /A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}/y,
  ],
  ["yandex-token", "t1", /t1\.[\w-]{4,}={0,2}\.[\w-]{60,}={0,2}/y],
  ["yandex-token", "y0 y1 y2 y3", /y[0-3]_[\w-]{50,}/y],
  ["bitwarden-token", "0.", /0\.[a-f0-9-]{36}\.[A-Za-z0-9]{20,}:[A-Za-z0-9+/]{20,64}={0,2}/y],
  ["infisical-token", "st", /st\.[a-f0-9-]{20,40}\.[a-f0-9]{24,}(?:\.[a-f0-9]{20,})?/y],
  ["linode-token", "LI", /LINODE-[A-Za-z0-9]{32,}/y],
  ["ibm-key", "Ap", /ApiKey-[a-f0-9-]{36}/y],
  ["bitbucket-token", "BB", /BBDC-[\w+/@-]{40,60}/y],
  ["github-token", "v1", /v1\.[0-9a-f]{40}(?!\w)/y],
  ["clickup-token", "pk", /pk_\d{5,10}_[A-Z0-9]{24,}/y],
  ["harness-token", "pa sa", /[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}/y],
  [
    "authress-key",
    "sc ex au",
    /(?:sc|ext|scauth|authress)_[a-zA-Z0-9]{5,30}\.[a-zA-Z0-9]{4,6}\.acc[_-][\w-]{10,32}\.[\w+/=-]{30,120}/y,
  ],
  ["stripe-client-secret", "pi se", /(?:pi|seti)_[A-Za-z0-9]{20,30}_secret_[A-Za-z0-9]{20,30}/y],
  ["close-key", "ap", /api_[A-Za-z0-9]{20,30}\.[A-Za-z0-9]{20,30}/y],
  ["robinhood-key", "rh", /rh-api-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}/iy],
  ["newrelic-token", "AA", /AA[a-f0-9]{40}(?!\w)/y],
  ["twitter-token", "AA", /A{20,24}(?!A)[A-Za-z0-9%]{60,120}/y],
  ["sendgrid-key", "SG", /SG\.[\w=-]{8,40}\.[\w=.-]{24,80}/y],
  ["airtable-token", "pa", /pat[A-Za-z0-9]{14}\.[a-f0-9]{40,}/y],
  ["hubspot-token", "pa", /pat-[a-z]{2}\d-[a-f0-9-]{36}/y],
  ["launchdarkly-key", "sd ap mo", /(?:sdk|api|mob)-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}/y],
  [
    "plaid-token",
    "ac",
    /access-(?:sandbox|development|production)-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}/y,
  ],
  ["mapbox-token", "sk tk", /[st]k\.eyJ[\w-]{20,}\.[\w-]{16,}/y],
  ["zoho-token", "10", /1000\.[a-f0-9]{32}\.[a-f0-9]{32}/y],
  ["salesforce-token", "00", /00D[A-Za-z0-9]{12,15}![\w.]{60,}/y],
  ["resend-key", "re", /re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}/y],
  ["flagsmith-key", "se", /ser\.[A-Za-z0-9]{20,}/y],
  ["twilio-key", "SK", /SK[a-fA-F0-9]{32}(?!\w)/y],
  ["twilio-account", "AC", /AC[a-f0-9]{32}(?!\w)/y],
  ["adyen-key", "AQ", /AQE[\w+/]{20,200}={0,2}-[\w+/]{20,200}={0,2}-[^\s"'\\]{8,100}/y],
  [
    "jwt",
    "ey",
    /ey(?:J[\w-]{8,}\.(?:ey[\w-]+|[\w-]{16,}|\.[\w-]{8,})|[\w-]{16,}\.ey[\w-]{16,})(?:\.[\w-]+){0,3}/y,
  ],
];

/** Tokens without a prefix that have a shape of their own: their type, their least length and a sticky pattern. */
export const SHAPE_FORMATS: readonly (readonly [type: string, minChars: number, pattern: RegExp])[] = [
  ["terraform-token", 30, /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,200}/y],
  ["newrelic-license", 32, /[a-z]{2}\d{2}xx[a-f0-9]{26,34}(?!\w)/y],
  ["newrelic-license", 36, /[a-f0-9]{32,36}(?:FFFF)?NRAL(?!\w)/y],
  ["mailchimp-key", 36, /[a-f0-9]{32}-us\d{1,2}(?![\w-])/y],
  ["google-refresh-token", 36, /(?<=1\/\/)0[\w-]{35,}/y],
  ["mollie-key", 35, /live_[A-Za-z0-9]{30,}(?!\w)/y],
  ["lob-key", 40, /(?:live|test)_[a-f0-9]{35}(?!\w)/y],
  ["maxmind-key", 40, /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)/y],
  ["clickhouse-key", 42, /4b1d(?=[A-Z0-9a-f]*[g-z])[A-Za-z0-9]{38}(?![\w.-])/y],
  ["zhipu-key", 49, /[a-f0-9]{32}\.[A-Za-z0-9]{16}(?![\w.-])/y],
  ["ngrok-token", 49, /[12][A-Za-z0-9]{26}_[A-Za-z0-9]{21}(?![\w.-])/y],
  ["mailgun-key", 50, /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])/y],
  ["discord-token", 55, /[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}/y],
  ["azure-key", 80, /[A-Za-z0-9]{40,64}JQQJ99[A-Za-z0-9]{20,}/y],
];

/** Tokens around a mark: their type, the mark, and what stands before and behind it. */
export const MARKED_FORMATS: readonly (readonly [type: string, mark: string, head: RegExp, tail: RegExp])[] =
  [
    ["telegram-token", ":", /(?<!\d)\d{8,10}$/, /[A-Za-z0-9_-]{34,36}(?![\w-])/y],
    ["fcm-key", ":", /AAAA[\w-]{7}$/, /APA91b[\w-]{100,200}/y],
    ["asana-token", ":", /[0-2]\/\d{12,18}(?:\/\d{12,18})?$/, /[a-f0-9]{32}(?!\w)/y],
    ["jetbrains-token", ":", /(?:\b|(?<=\\[nrt]))perm$/, /[\w+/=.-]{40,200}/y],
    ["twitch-token", ":", /(?:\b|(?<=\\[nrt]))oauth$/, /[a-z0-9]{28,32}(?!\w)/y],
    ["ably-key", ":", /\b[\w-]{6,8}\.[\w-]{6}$/, /[\w-]{20,48}(?![\w-])/y],
    ["facebook-token", "|", /(?<!\d)\d{15,16}$/, /[\w-]{27,40}(?![\w-])/y],
    ["azure-secret", "~", /(?<=^|[^\w~.-]|\\[nrt]|\n-|-\d{1,6}-)[\w~.-]{3}\dQ$/, /[\w~.-]{31,37}/y],
    ["openshift-token", "~", /(?:\b|(?<=\\[nrt]))sha256$/, /[\w-]{43}/y],
    [
      "braintree-token",
      "$",
      /(?:\b|(?<=\\[nrt]))access_token\$(?:production|sandbox)\$[a-z0-9]{16}$/,
      /[a-f0-9]{32}/y,
    ],
  ];
