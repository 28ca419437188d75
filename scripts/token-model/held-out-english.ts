import { type EnglishWords, words } from "./lexicon.ts";

/** English words that no fitted text holds, but for those that hold sentences together. */
export const heldOutEnglish: EnglishWords = {
  glue: words(`
    the the the of and and to a in it was that his her he she with as had for at by but from not be are were this
    which or an they you all one have him would there what we if no who out when them so up could more will been
    then into some than now time do its any over did other only very after upon first two our such these made how
    before must should through much where down your while again every too here against own`),
  plain: words(`
    acid acre adopt adult airport album alley ancient angle ankle anniversary appetite apron arch arena aroma
    ashes assist athlete attic backpack badge bakery balcony bamboo banana banner barn barrel basement bath
    beard bee beef belt berry bicycle biscuit blade blossom blouse bolt bracelet brake brass breeze brick bronze
    bubble buffalo bullet bunch butcher cabbage cabin cactus calendar canal canoe canyon caravan carpet carrot
    cart cattle cave cellar cement cereal cherry chess chimney chin chocolate cider clay cliff clinic clown
    cobra coin comet compass concert copper coral costume cottage couch crab cradle crane crater creek crew
    cricket crop crystal cupboard dairy daisy dawn deck diamond diary dinosaur ditch dock dolphin donkey dragon
    drawer drift drum duck eagle elbow elephant elevator envelope eruption fabric falcon fern festival fiddle
    flute foam fog fountain fox freight frog frost funnel galaxy garage garlic ghost giant ginger giraffe
    glacier glove glue grape gravel guitar gulf gum hammer harbor harvest hawk hedge herb hip hockey honey hood
    horizon horn hose hut igloo ink insect ivory jacket jail jar jaw jeans jelly jewel jungle kangaroo kettle
    kidney kite kitten ladder lamb lane laundry lava lawn lawyer lemon lens lettuce lid lily linen lizard
    lobster lung maple marble meadow melon mermaid microscope mint mist moss motor mud mug muscle mushroom
    mustard nephew nylon oak oasis oat olive onion opera orange orbit orchestra organ otter owl oyster palace
    palm panda parade parrot pasta patrol peach peanut pearl peas pebble penguin pepper piano pickle pier pigeon
    pillow pilot pine pirate planet plow plum pond pony poppy porch potato prairie pumpkin puppet puzzle pyramid
    quilt radish raft railway rainbow ranch razor reef reptile ribbon rifle robin robot rocket rug saddle salad
    salmon sauce sausage scarf scissors sculptor seal shark shed shovel shrimp sleeve slipper snail sock sofa
    spider spinach sponge squirrel stadium statue stool straw strawberry suitcase sunset swan sweater syrup
    tailor tank tape tiger toast toe tomato torch tornado tractor trumpet tulip tunnel turkey turtle twin
    umbrella uniform van vase velvet violin volcano waiter wallet walnut wasp waterfall whale willow wolf wrist
    yacht zebra`),
  long: words(`
    accompaniment agricultural ambassador anthropology apprenticeship archaeologist aristocratic assassination
    astronomical bewilderment broadcasting calculations choreography chronological coincidence commissioner
    complimentary confrontation connoisseur constitutional cosmopolitan deterioration diplomatic disadvantage
    electromagnetic embroidery enlightenment extinguished fertilizer fingerprints forgiveness gubernatorial
    horticulture humanitarian hydroelectric illustrations incompatible intersection kindergarten laboratory
    locomotive mathematician mediterranean meteorological mythological nomenclature northwestern oceanographer
    ornamental pharmaceutical plantation playwright porcelain quarantine renaissance sanctuary silhouette
    supernatural tambourine thermometer unanimously ventriloquist whirlpool`),
  names: words(`
    Abigail Bartholomew Clementine Desmond Esmeralda Frederick Gabriella Hector Isadora Julian Konstantin
    Leopold Miranda Nicholas Ophelia Patrick Rebecca Solomon Tabitha Vincent Wilhelmina Athens Barcelona Chicago
    Dublin Frankfurt Geneva Helsinki Jakarta Kathmandu Liverpool Montreal Naples Prague Reykjavik Singapore
    Vienna Wellington November December Wednesday Thursday Saturday Canada Mexico Norway Portugal Brazil Arctic
    Galileo`),
  staple: words(`
    avatar email product customer cart booking album artist player goal rating review birthday salary employee
    grade exam invoice payment shipment sensor battery fuel mileage recipe flavor menu_id guest_count playlist
    lyrics genre stadium referee tournament patient clinic dosage allergy breed owner_id`),
  code: words(`
    accordion activate adjacent affine ancestor annotation approve arena artifact atlas autocomplete avatar
    backoff badge banner barcode baseline beacon benchmark bezier billing blend blob bookmark bootstrap
    breadcrumb brightness bullet calendar canvas caption carousel cart catalog checkout chip cipher classify
    clipboard cohort coin collider compiler conflict contact contour coordinate corpus coupon crawler credit
    crop currency curve dashboard deadline decay decrypt dependency deserialize diagnostic dictionary dock
    dropdown ellipse embedding encrypt envelope epoch estimate exporter facade fiber fingerprint forecast
    formula fraction fuzzy gallery gateway gauge gesture glyph gradient granularity gravity gutter heap
    heartbeat heuristic hint histogram hotkey importer inbox ingest inventory invoice isolate journal keyboard
    keyframe kinetic landmark ledger legend lexer license linker lobby logout mailbox marquee mesh microphone
    minimap mixin modal montage mosaic multiplier newsletter notebook oauth octree onboarding opacity orbit
    outbox outline overlay palette particle passenger payment phone physics picker pivot playback playlist
    poster precision preset printer prune puzzle quiz radar rasterize rating recipe rectangle redo refund
    regression reminder replica resolution ribbon ripple robot rotation sandbox scanner scenario scene scrubber
    semaphore sensor settlement shader shard shipment sidebar skeleton slider snippet solver sparse spinner
    spline sprite sticker stock stub subtitle survey tablet teardown telemetry texture thumbnail tier tileset
    timeline timezone toast tokenizer toolbar torrent tracker trend triangle tutorial typeahead unicode unread
    upgrade utterance vacuum vault vendor venue vocabulary voucher wallet watermark wavelet webhook wizard
    workbook zipper`),
  short: words(`
    ack adj amt anim asm ast awk bbox bfs blob bmp bw calc cert ch chan cmp coef comp coord corr cred crypt csv
    ctl cv dbg demo dfs dma dns dp drv dup dx dy ef esm exe fb fk flt fps ftp fx gc geo git gl gpio grep hp hsl
    hz inv ipc irq jwk kbd kg latlng led lerp lf llm lsp mac mat mcp mesh midi mime mlp mp mqtt nb nn npm ntp
    oauth ocr pci pem phi pk plt pmf pnl poc pow pwd qa qr quat ram redo repl roi ros rss sdk sgd shm sid smtp
    soc spi sse ssh sso stl sudo tf tls ttl ttf tui tz uart udf unix upd usb utc vad vlan vpn wasm wav wsl xy`),
  packages: words(`
    svelte preact lit ember backbone jquery bootstrap bulma parcel turbo nx lerna pnpm yarn bun deno vitest
    playwright cypress puppeteer cheerio jsdom undici superagent mqtt redis ioredis mysql2 sqlite3 kafkajs
    bullmq agenda luxon date-fns ramda underscore valibot arktype superstruct trpc urql relay pixi d3-scale
    chart.js leaflet mapbox-gl quill prosemirror-model slate codemirror monaco-editor highlight.js marked
    remark-parse rehype-raw unified vfile mdast-util-from-markdown micromark unist-util-visit hast-util-to-html
    property-information space-separated-tokens character-entities ts-node tsx tslib rc-util lit-html iconv-lite`),
};
