import { type EnglishWords, words } from "./lexicon.ts";

/** The English words from which the fitted texts are made. */
export const englishWords: EnglishWords = {
  glue: words(`
    the the the the of of and and and to to a a in in is it that for was on are as with be by this from at or
    have an they not which one you were all their there been has when who will no more if out so up said what its
    about than into them can only other time new some could these two may first then do any like my now over such
    our even most me after also did many off before must well back through years where much your way down should
    because each just those people too how little state good very make world still see own work men day get here
    between both life being under three never same another know while last might us great old year come since go
    against came right used take himself few house use during without again place around however small found
    thought part high every part does got left number course until always away something fact water less public
    put think almost hand enough far took yet better light set side done things going`),
  plain: words(`
    able above accept account across action active actually address adjust advice affect afraid afternoon agree
    air allow alone along already among amount animal answer anyone anything apart appear apple area arm army
    arrive article aside asleep attack attempt attention aunt autumn avoid awake baby bag balance ball band bank
    bar base basket battle beach bear beat beautiful become bed bedroom begin behave behind believe bell belong
    bench bend beneath beside besides best beyond bill bird birth bit bitter black blame blanket blind blood
    blow blue board boat body boil bone book boot border born borrow boss bottle bottom bowl box boy brain branch
    brave bread break breakfast breath bridge brief bright bring broad broken brother brown brush build building
    burn bury bus business busy butter button buy cake calm camera camp candle captain car card care careful
    carry castle cat catch cause ceiling center century certain chain chair chance change chapter character
    charge cheap check cheese chest chicken chief child children choice choose church circle citizen city claim
    class clean clear clever climb clock cloth cloud club coast coat coffee cold collar collect color comfort
    common company compare complain complete concern condition confirm connect consider contain content continue
    control cook cool copy corn corner correct cost cotton cough count country couple courage court cousin cover
    cow crack cream create creature crime cross crowd crown cruel cry culture cup curious current curtain custom
    cut dance danger dark daughter dead deal dear death debt decide deep deer degree deliver demand describe
    desert deserve desire desk destroy detail develop dinner direct dirty discover discuss disease dish distance
    divide doctor dog dollar door double doubt drag draw dream dress drink drive drop dry dust duty eager ear
    early earn earth ease east easy eat edge educate effect effort egg either elder else empty end enemy engine
    enjoy enter entire equal error escape evening event evil exact example except excite excuse exercise exist
    expect expense explain express extra eye face fail faint fair faith fall false family famous farm farmer fast
    fat father fault favor fear feather feed feel fellow fence fever field fight figure fill film final find fine
    finger finish fire firm fish fit fix flag flame flat flight float floor flour flow flower fly fold follow food
    fool foot force foreign forest forget forgive form forward frame free freeze fresh friend front fruit full fun
    funny future gain game garden gate gather general gentle gift girl give glad glass goat gold govern grain grand
    grass gray green greet ground group grow guard guess guest guide guilty habit hair half hall hang happen happy
    hard harm hat hate head health hear heart heat heaven heavy height hello help hen hide hill history hit hold
    hole holiday home honest honor hope horse hospital host hot hotel hour huge human hunger hunt hurry hurt
    husband ice idea ill imagine improve inch include increase indeed inside instead insult interest iron island
    job join joke journey joy judge juice jump keep key kick kill kind king kiss kitchen knee knife knock knot
    knowledge lack lady lake lamp land language large late laugh law lazy lead leaf learn leather leave leg lend
    length lesson letter level library lie lift likely limb limit line lion lip list listen live loan local lock
    lonely long look lose loss lot loud love low lower luck lunch machine mad mail main manner map march mark
    market marry master match material matter meal mean measure meat medicine meet member memory mend mention
    merchant mercy mere merry message metal middle mile milk mill mind mine minute mirror miss mistake mix model
    modern moment money monkey month moon moral morning mother motion mountain mouse mouth move music nail name
    narrow nation nature near nearly neat neck need needle neighbor neither nerve nest net news next nice night
    noble noise none noon north nose note nothing notice noun nurse nut obey object ocean offer office often oil
    opinion order ordinary ought outside oven owe page pain paint pair pale pan paper parent park party pass past
    paste path patience pause pay peace pen pencil perfect perform perhaps period permit person pet photo pick
    picture piece pig pin pink pipe pity plain plan plane plant plate play pleasant please plenty pocket poem
    point poison police polite pool poor popular position possess possible pot pound pour power praise pray
    prepare present press pretty prevent price pride priest print prison private prize problem process produce
    profit promise proof proper protect proud prove provide pull punish pupil pure purple purpose push quality
    quarrel quarter queen question quick quiet quite rabbit race radio rain raise range rank rapid rare rather
    raw reach read ready real reason receive recent red reduce refuse regard regret regular relation religion
    remain remark remember remind remove rent repair repeat reply report request rescue respect rest result return
    reward rice rich ride ring ripe rise risk river road roar roast rob rock roll roof room root rope rough round
    row royal rubber rude ruin rule run rush sad safe sail salt sand save saw say scale scatter school science
    scold scratch screen sea search season seat second secret seed seem seize seldom self sell send sense
    sentence separate serious serve settle several severe shade shadow shake shall shame shape share sharp sheep
    sheet shelf shell shine ship shirt shock shoe shoot shop shore short shoulder shout show shower shut sick
    sight sign signal silence silk silver simple sing single sink sister sit situation size skill skin skirt sky
    slave sleep slide slight slip slow smell smile smoke smooth snake snow soap social society soft soil soldier
    solid solve son song soon sore sorry sort soul sound soup south space speak special speech speed spell spend
    spirit spoil spoon sport spot spread spring square stage stair stamp stand star start station stay steady
    steal steam steel steep step stick stiff stomach stone stop store storm story stove straight strange stream
    street strength stretch strike string strip stroke strong struggle student study stupid subject succeed sudden
    suffer sugar suggest suit summer sun supper supply support suppose sure surface surprise surround sweep sweet
    swim sword system table tail talk tall taste tax taxi tea teach teacher team tear telephone tell temper
    tempt tend tent terrible test thank theater thick thief thin thing third thirst thousand thread threat throat
    throw thumb thunder ticket tie tight till tire title tobacco today together tomorrow tongue tonight tool tooth
    top total touch tour toward towel tower town toy track trade train translate trap travel treasure treat tree
    tremble trial tribe trick trip trouble true trunk trust truth try tube tune turn twice type uncle understand
    union unit unite upper upon upset urge useful usual valley value variety various vegetable verb victory view
    village visit voice vote voyage wage waist wait wake walk wall wander want war warm warn wash waste watch wave
    weak wealth weapon wear weather week weigh welcome west wet wheat wheel whether whip whisper white whole
    wicked wide wife wild willing win wind window wine wing winter wire wise wish woman wonder wood wooden wool
    word worry worse worship worth wound wrap wreck write wrong yard yellow yes yesterday yield young youth zero
    according achieve acquire actually addition additional administration advantage agreement although amazing
    analysis announced apparently applications approach appropriate approximately argument associated assumed
    attitude authority automatically available background beginning behavior benefits boundaries calculated
    campaign capacity carefully category challenge characters collected combination commercial commission
    commitment committee community companies competition completed completely complex components computer
    concentrate concept concerned conclusion conditions conference confidence confusion connection consequences
    consistent contains contemporary continued contribution conversation corporate corresponding criminal
    customers damage database decision declared definition democratic department depending described description
    designed determine developed development difference different difficult difficulty direction directly
    director discovered discussion distribution district document documentation documents economic education
    effective efficient electricity elements emergency employees encourage energy engineer entirely environment
    equipment especially essential established estimated eventually evidence examples excellent exchange executive
    existing expected experience explanation exploring facilities familiar favorite features financial following
    football foreign foundation frequently function functions furniture generally generation government graduate
    guidance happened historical hospital hundred identified immediately implementation importance important
    impossible improvement including increased independent individual industrial industry influence information
    initial instructions insurance intelligence international interview investment involved knowledge language
    leadership learning legislation library limitation literature location machine magazine maintain management
    manufacturing marketing materials maximum meanwhile measurement mechanism medical meeting mentioned methods
    military minister moreover movement multiple national necessary negative network nevertheless newspaper
    normally obtained obviously occurred official operating opportunity opposite organization original otherwise
    painting parameters particular particularly performance permission personal perspective physical platform
    political population positive possibility potential practical practice preferred presence president pressure
    previous previously principle probably procedure production professional programming progress properties
    property proposed protection provided publication published purchase quality quantity quickly reality recently
    recognize recommended reference regional registered relationship relatively released relevant religious
    remaining requirements research resources responsible restriction sometimes specific standards statement
    strategy structure students successful sufficient suggested technical techniques technology television
    temperature themselves therefore throughout tomorrow traditional transfer treatment understanding university
    unless usually valuable variables vehicle version violence weekend whatever wherever without wonderful`),
  long: words(`
    accommodation acknowledge administration advertisement approximately architecture arrangement astonishing
    atmosphere authorities biographical breathtaking bureaucracy catastrophe championship characteristic
    circumstances collaboration commemorate communication comprehensive concentration congratulations
    consciousness consequently conservation considerable constellation contemporary contradictory controversial
    conventional cooperation correspondence counterpart craftsmanship declaration deliberately demonstration
    determination disappointment disagreement discrimination distinguished embarrassment encouragement
    encyclopedia enthusiasm entrepreneurial environmental establishment evaporation exaggerated exceptionally
    exhaustion extraordinary fascinating fluctuations foreshadowed furthermore generosity geographical
    grandmother handkerchief headquarters hospitality hypothetical illumination imagination immediately
    imperceptible inconvenience independence indispensable industrialized inevitably infrastructure
    inhospitable insignificant institutional intellectual interpretation investigation jurisdiction knowledgeable
    lighthouse magnificent manufacturer melancholy merchandise meticulous miscellaneous misunderstanding
    neighborhood nevertheless notwithstanding observatory occasionally opportunities organization
    outstanding parliamentary participation particularly perpendicular perseverance philosophical photographer
    predominantly preliminary presumably professional pronunciation psychological questionnaire
    reconciliation recommendation refrigerator relationship reluctantly remembrance representative
    responsibility restaurant schoolmaster shipbuilding significance simultaneously sophisticated
    spontaneous straightforward subconscious sufficiently superintendent surroundings temperature thoroughfare
    thunderstorm transportation tremendous unaccustomed underestimate unfortunately unmistakable
    unprecedented vulnerability weatherbeaten whatsoever wholehearted windowsill
    blacksmith cobblestones creaked daffodils dusky flickered gleaming hearth huddled limping muttered
    orchards pewter quivered rafters sauntered scowled shrugged smoldering thatched trudged whittled yonder`),
  names: words(`
    Alice Bernard Caroline Dmitri Eleanor Fernando Gwendolyn Harold Ingrid Jasper Katherine Lorenzo Margaret
    Nathaniel Olivia Percival Quentin Rosalind Sebastian Theodora Ulysses Victoria Winston Yolanda Zachary
    London Paris Amsterdam Birmingham Copenhagen Edinburgh Florence Gibraltar Hamburg Istanbul Johannesburg
    Kyoto Lisbon Melbourne Nairobi Oslo Philadelphia Queensland Rotterdam Stockholm Toronto Uppsala Venice
    Warsaw Yorkshire Zurich January February March April August September October Monday Tuesday Friday Sunday
    England Germany Japan America Africa Europe Asia Atlantic Pacific Thames Danube Himalaya Christmas Easter
    Shakespeare Newton Einstein Beethoven Napoleon Churchill Lincoln Darwin Mozart Cleopatra University College
    Parliament Congress Senate Museum Cathedral Hotel Street Avenue Railway Company Professor Doctor Captain`),
  staple: words(`
    data value name type key id index item items list node path file text result error options config state event
    props args message length string number object array function map get set is has add create update find parse
    render handler callback request response user url time count size start end context source target token module
    test default children parent input output to from for with by on new next last first current body header content
    line code class element component view model action field fields entry status version query params window
    document style width height left right top color title description label total max min`),
  code: words(`
    abort absolute access account action active adapter add address after alias align all allocate allow amount
    anchor append apply archive args argument array arrow assert assign async attach attribute audit auth author
    auto available average await backend background base batch before begin binary bind bit block body boolean
    bottom boundary box branch break bridge broker browser bucket buffer build builder bundle button byte cache
    calculate call callback cancel candidate capture case cast catch category cell center certificate chain change
    channel char check checkpoint checksum child chunk claim class clause clean clear click client clone close
    cluster code collapse collect collection color column combine command comment commit common compact compare
    compile complete component compose compress compute concat condition config confirm connect connection console
    const constant construct consume consumer contain container content context continue control convert cookie copy
    core count counter cover create credential current cursor custom cycle daemon data database date debounce debug
    decimal declare decode decorate default defer define degree delay delegate delete delimiter deliver delta
    depend deploy depth describe descriptor destination destroy detail detect device dialog diff digest dimension
    direction directory dirty disable discard disconnect discover disk dispatch display distance document domain
    done double download draft drag draw driver drop dump duplicate duration dynamic each edge edit editor effect
    element emit empty enable encode encoding end endpoint engine enqueue entity entries entry enum environment
    equal error escape evaluate event exact example except exception exclude execute exist exit expand expect
    expire explicit export expression extend extension external extract factory fail failure fallback feature fetch
    field file filename filter final find finish first flag flatten flush focus folder font footer force fork form
    format forward fragment frame free frequency function future generate generic get global grant graph grid group
    guard handle handler hash head header health height help helper hidden history hook host hover icon identifier
    identity idle ignore image immutable implement import include increment index info inherit init initial inject
    inline inner input insert inspect install instance integer interface internal interval invalid invoke item
    iterate iterator job join json keep kernel key keyword kind label lambda language last latency latest layer
    layout lazy leader leaf lease left legacy length level library lifecycle limit line link list listen listener
    literal load loader local locale location lock log logger login long lookup loop lower macro main manager
    manifest map margin mark marker mask master match matrix max maximum measure media member memory menu merge
    message meta metadata method metric middleware migrate min minimum mode model modifier module monitor mount move
    multiple mutable mutate mutex name namespace native navigate negative nested network next node none normal
    normalize notify null number object observe observer offset open operation operator option optional order origin
    outer output overflow override owner package packet padding page panel parallel parameter parent parse parser
    partial partition password patch path pattern pause payload peer pending percent permission persist phase pick
    pipe pipeline pixel placeholder plan platform plugin point pointer policy poll pool pop port position positive
    post postfix predicate prefix prepare preview previous primary primitive print priority private probe process
    producer profile progress project promise prompt property protocol prototype provider proxy public publish pull
    push query queue quota quote radius raise random range rank rate ratio raw read reader ready reason receive
    record recover recursive redirect reduce reducer refactor reference refresh region register registry regex
    reject relation release reload remaining remote remove rename render renderer repeat replace replay reply report
    repository request require reserve reset resize resolve resolver resource response rest restart restore result
    resume retry return reverse revision right role rollback root rotate round route router row rule run runner
    runtime safe sample save scale scan schedule scheduler schema scope score screen script scroll search second
    secret section security seed segment select selector send sender sequence serial serialize server service session
    set setting settle setup shadow shape share shell shift short show shutdown side sign signal signature silent
    simple single size skip slice slot snapshot socket sort source space span spawn spec spill split spread stack
    stage stale standard start state statement static station status step stop storage store strategy stream strict
    string strip struct style submit subscribe subscriber subscription success suffix suggest suite sum summary
    super support suspend swap switch symbol sync syntax system tab table tag tail target task team template temp
    terminal test text theme thread threshold throttle throw ticket tile time timeout timer timestamp title toggle
    token tool tooltip top topic total trace track trailing transaction transfer transform transition translate
    transport tree trigger trim truncate try tuple type undefined undo unique unit unknown unlink unlock update
    upload upper url usage user utility valid validate validator value variable vector verbose verify version
    vertex video view viewport virtual visible visit visitor volume wait walk warn warning watch weak weight widget
    width window wire with word work worker workflow workspace wrap wrapper write writer yield zone zoom`),
  short: words(`
    acc addr alt api app arg arr attr avg aux bin bg blk bool brk btn buf cb cfg char chk cls clk cmd cnt col conf
    conn const cpu css ctrl ctx cur db dec def del desc dest dev dict diff dim dir dist doc dom dst dt dto dyn el elem
    elt emb enc env eof eps err esc etc eval evt exec exp ext fd fg fifo fmt fn fp freq fs fun func fwd gen gid gpu
    grp gui gz hdr hex hi html http hw ico id idx img impl inc inf inst int io ip iso iter jmp js kb kv lang lat len
    lex lhs lib lim ln lo loc lon lru lst ltr lz max mb md mem mgr mid min misc mk ml mod msg mtx mut nav neg net
    nil nl no ns num nxt obj oid ok op opt org os out pad param pct pdf perf pg pid pkg png pos pre prev prg proc
    prop proto ptr pub px py qty qs rand rec ref reg rel req res ret rev rgb rhs rm rnd rpc rs rsa rtl rw sec seg
    sel seq sha sig sin sk sm sp sql sqrt src ssl st std stdin stdout stmt str sub svc svg sw sym sys tbl tcp tmp
    toc tok tpl tr ts tty tx txt typ udp uid ui ul uri url usr utf util uuid val var vec ver vm vol vs wr ws www
    xhr xml xs yaml yml zip`),
  packages: words(`
    express lodash react vue angular webpack rollup esbuild prettier eslint jest mocha chai sinon axios commander
    yargs chalk debug semver minimatch glob rimraf mkdirp uuid moment dayjs rxjs redux typescript babel postcss
    autoprefixer tailwindcss nodemon dotenv cors helmet passport mongoose sequelize knex prisma graphql apollo
    socket fastify koa hapi nest pino winston bunyan morgan bluebird immer zustand mobx swr formik yup ajv
    ansi-styles strip-ansi string-width wrap-ansi cross-spawn which isexe path-key shebang-command npm-run-path
    source-map acorn estree-walker magic-string picomatch fdir tinyglobby braces fill-range to-regex-range
    is-number readdirp chokidar anymatch normalize-path binary-extensions is-glob is-extglob fast-deep-equal
    json-schema-traverse uri-js punycode color-convert color-name supports-color has-flag escape-string-regexp
    lru-cache yallist graceful-fs signal-exit emoji-regex is-fullwidth-code-point get-caller-file y18n cliui`),
};
