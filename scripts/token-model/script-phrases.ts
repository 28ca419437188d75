import { lines, type ScriptPhrases } from "./lexicon.ts";

/** The phrases in other scripts from which the fitted texts are made. */
export const scriptPhrases: ScriptPhrases = {
  chinese: lines(`
    这个函数返回一个新的对象
    如果参数为空则抛出异常
    我们需要在服务器上安装最新版本
    请先检查配置文件是否存在
    数据库连接已经超时
    用户可以通过设置页面修改密码
    系统会自动保存当前的进度
    今天下午三点我们开会讨论项目计划
    这座城市的历史可以追溯到两千年前
    他每天早上都去公园跑步
    老师让学生们打开课本第二十页
    由于天气原因航班被取消了
    市场上的蔬菜价格比上个月便宜
    经济发展带动了就业增长
    科学家发现了一种新的材料
    人工智能正在改变我们的生活方式
    这篇文章主要介绍了基本概念和使用方法
    为了提高性能我们采用了缓存机制
    内存不足时程序将会终止运行
    在浏览器中打开开发者工具
    点击右上角的按钮即可下载
    该方法接受两个参数并返回布尔值
    错误信息会被写入日志文件
    默认情况下不需要任何额外的依赖
    测试用例覆盖了所有重要的分支
    提交代码之前请运行格式检查
    她轻轻地推开了那扇旧木门
    远处的山上还留着去年的雪
    孩子们在院子里追逐一只黄色的小狗
    父亲坐在窗边默默地抽着烟
    火车缓缓驶出了车站
    我从来没有见过这样安静的夜晚
    他把信折好放进了抽屉
    村里的人都认识这位年轻的医生
    雨下了整整一夜
    春天来了河边的柳树开始发芽
    公司决定在明年扩大生产规模
    政府发布了关于环境保护的新规定
    参加会议的代表来自三十多个国家
    这项研究的结果发表在国际期刊上
    消费者对产品质量提出了更高的要求
    专家认为房价在短期内不会大幅上涨
    交通部门提醒司机注意安全
    比赛在双方球员的握手中结束
    医院增加了夜间门诊的服务时间
    图书馆免费向市民开放
    变量的作用域取决于声明的位置
    循环会一直执行直到条件不再满足
    字符串可以使用单引号或双引号
    数组的第一个元素的索引是零
    异步函数总是返回一个承诺对象
    组件在挂载之后才会请求数据
    这里有一个需要注意的地方
    换句话说两者之间并没有本质区别
    首先我们来看一个简单的例子
    因此不建议在生产环境中使用这个选项
    接下来将会详细说明每一个步骤
    更多内容请参考官方文档
    构建工具会把所有模块打包成一个文件
    插件可以在不同阶段修改输出结果
    命令行参数的优先级高于配置文件
    日志级别可以设置为调试或者警告
    学而时习之不亦说乎
    床前明月光疑是地上霜
    举头望明月低头思故乡
    三人行必有我师焉
    不积跬步无以至千里
    老板说这批货下周一之前必须发出去
    你能帮我看看这台电脑出了什么问题吗
    我觉得这家餐厅的鱼做得特别好吃
    手机没电了我找不到回家的路
    周末我们打算带孩子去动物园
    这道题的答案其实非常简单
    他说话的声音很小几乎听不见
    谢谢你的帮助没有你我完成不了这个任务
    对不起我来晚了路上堵车
    機器學習需要大量的訓練資料
    請在下方輸入您的電子郵件地址
    這個版本修正了幾個已知的問題
    使用者介面支援多種語言
    窗外傳來鳥兒的歌聲
    螺丝刀和扳手都放在工具箱里
    秋风吹过稻田掀起层层金色的波浪
    爷爷戴着老花镜修理那只旧闹钟
    蜿蜒的小径通向竹林深处
    渔船趁着涨潮驶离码头`),
  russian: lines(`
    эта функция возвращает новый объект
    если параметр не указан, используется значение по умолчанию
    необходимо установить последнюю версию программы
    сначала проверьте, существует ли файл настроек
    соединение с базой данных было прервано
    пользователь может изменить пароль в настройках
    система автоматически сохраняет текущее состояние
    сегодня после обеда мы обсудим план проекта
    история этого города начинается две тысячи лет назад
    каждое утро он бегает в парке
    учитель попросил учеников открыть книгу на двадцатой странице
    рейс отменили из-за плохой погоды
    овощи на рынке стали дешевле, чем в прошлом месяце
    рост экономики привёл к увеличению занятости
    учёные открыли новый материал
    искусственный интеллект меняет нашу жизнь
    в этой статье описаны основные понятия и способы применения
    чтобы повысить производительность, мы добавили кэш
    при нехватке памяти процесс будет завершён
    откройте инструменты разработчика в браузере
    нажмите на кнопку в правом верхнем углу
    метод принимает два аргумента и возвращает логическое значение
    сообщения об ошибках записываются в журнал
    по умолчанию дополнительные зависимости не нужны
    тесты покрывают все важные ветви кода
    перед отправкой изменений запустите проверку
    она тихо открыла старую деревянную дверь
    на далёких горах ещё лежал прошлогодний снег
    дети гонялись во дворе за рыжей собакой
    отец молча курил у окна
    поезд медленно отошёл от станции
    я никогда не видел такой тихой ночи
    он сложил письмо и убрал его в ящик стола
    в деревне все знали молодого врача
    дождь шёл всю ночь напролёт
    весной у реки зазеленели ивы
    компания решила расширить производство в следующем году
    правительство приняло новые правила охраны природы
    на конференцию приехали представители тридцати стран
    результаты исследования опубликованы в международном журнале
    покупатели предъявляют более высокие требования к качеству
    эксперты считают, что цены на жильё не вырастут
    водителей просят быть внимательными на дорогах
    матч закончился вничью, и зрители разошлись по домам
    больница увеличила время вечернего приёма
    библиотека открыта для всех жителей бесплатно
    область видимости переменной зависит от места объявления
    цикл выполняется, пока условие истинно
    строки можно заключать в одинарные или двойные кавычки
    первый элемент массива имеет нулевой индекс
    асинхронная функция всегда возвращает промис
    компонент запрашивает данные после монтирования
    здесь есть одна важная особенность
    другими словами, между ними нет принципиальной разницы
    рассмотрим простой пример
    поэтому не рекомендуется включать этот параметр на сервере
    далее подробно описан каждый шаг
    подробнее смотрите в официальной документации
    сборщик объединяет все модули в один файл
    аргументы командной строки важнее файла настроек
    начальник сказал отправить груз до понедельника
    не могли бы вы посмотреть, что случилось с компьютером
    по-моему, рыбу в этом ресторане готовят превосходно
    телефон разрядился, и я не нашёл дорогу домой
    в выходные мы поведём детей в зоопарк
    ответ на эту задачу на самом деле очень прост
    он говорил так тихо, что его почти не было слышно
    спасибо за помощь, без тебя я бы не справился
    извините за опоздание, на дороге была пробка
    князь молча поклонился и вышел из гостиной
    старушка перекрестилась и поставила самовар
    за околицей начиналось бескрайнее поле
    Москва встретила их ветром и мокрым снегом
    Иван Петрович долго разглядывал фотографию
    Мария улыбнулась и ничего не ответила`),
  japanese: lines(`
    この関数は新しいオブジェクトを返します
    パラメータが空の場合は例外が発生します
    最新のバージョンをインストールしてください
    設定ファイルが存在するかどうかを確認します
    データベースへの接続がタイムアウトしました
    ユーザーは設定画面でパスワードを変更できます
    今日の午後三時に会議があります
    彼は毎朝公園を走っています
    天気が悪いため飛行機は欠航になりました
    科学者たちは新しい材料を発見した
    キャッシュを使うことで性能が向上します
    ブラウザの開発者ツールを開いてください
    右上のボタンをクリックするとダウンロードできます
    エラーメッセージはログファイルに書き込まれます
    彼女は古い木の扉を静かに押し開けた
    子供たちは庭で犬を追いかけていた
    雨は一晩中降り続いた
    春になると川辺の柳が芽を出し始める
    配列の最初の要素のインデックスはゼロです
    次の章では詳しい手順を説明します
    この問題についてはもう少し調べる必要があります
    コマンドラインの引数は設定より優先されます
    テストは重要な分岐をすべて確認しています
    すみません、駅までの道を教えてください`),
  korean: lines(`
    이 함수는 새로운 객체를 반환합니다
    매개변수가 비어 있으면 예외가 발생합니다
    최신 버전을 설치해야 합니다
    설정 파일이 있는지 먼저 확인하세요
    데이터베이스 연결 시간이 초과되었습니다
    사용자는 설정 화면에서 비밀번호를 바꿀 수 있습니다
    오늘 오후 세 시에 회의가 있습니다
    그는 매일 아침 공원에서 달린다
    날씨 때문에 비행기가 취소되었다
    과학자들은 새로운 물질을 발견했다
    캐시를 사용하면 성능이 좋아집니다
    브라우저에서 개발자 도구를 여세요
    오른쪽 위의 버튼을 누르면 내려받을 수 있습니다
    오류 메시지는 로그 파일에 기록됩니다
    그녀는 낡은 나무문을 조용히 밀었다
    아이들은 마당에서 강아지를 쫓아다녔다
    비가 밤새도록 내렸다
    봄이 되자 강가의 버드나무에 싹이 텄다
    배열의 첫 번째 요소의 인덱스는 0입니다
    다음 장에서 각 단계를 자세히 설명합니다
    명령줄 인수는 설정 파일보다 우선합니다
    자세한 내용은 공식 문서를 참고하세요`),
  arabic: lines(`
    تعيد هذه الدالة كائنا جديدا
    إذا كان المعامل فارغا فسيحدث خطأ
    يجب تثبيت أحدث إصدار من البرنامج
    تحقق أولا من وجود ملف الإعدادات
    انتهت مهلة الاتصال بقاعدة البيانات
    يمكن للمستخدم تغيير كلمة المرور من صفحة الإعدادات
    سنناقش خطة المشروع بعد ظهر اليوم
    يعود تاريخ هذه المدينة إلى ألفي عام
    يركض كل صباح في الحديقة
    ألغيت الرحلة بسبب سوء الأحوال الجوية
    اكتشف العلماء مادة جديدة
    افتح أدوات المطور في المتصفح
    اضغط على الزر في الزاوية العليا
    تكتب رسائل الخطأ في ملف السجل
    فتحت الباب الخشبي القديم بهدوء
    كان الأطفال يلعبون في ساحة البيت
    استمر المطر طوال الليل
    لمزيد من المعلومات راجع الوثائق الرسمية`),
  european: lines(`
    Diese Funktion gibt ein neues Objekt zurück, wenn der Schlüssel gültig ist
    Die Verbindung zur Datenbank wurde wegen einer Zeitüberschreitung geschlossen
    Bitte überprüfen Sie zuerst, ob die Einstellungsdatei vorhanden ist
    Er ging über die Straße und öffnete die schwere Tür des Gasthauses
    Für größere Änderungen müssen zusätzliche Abhängigkeiten installiert werden
    Cette fonction renvoie un nouvel objet lorsque le paramètre est défini
    La connexion à la base de données a été interrompue après un délai
    Veuillez d'abord vérifier que le fichier de configuration existe déjà
    Il traversa la rue et poussa la porte de l'auberge où brûlait un feu
    L'élément sélectionné n'a pas été trouvé dans la liste précédente
    Esta función devuelve un nuevo objeto cuando el parámetro está definido
    La conexión con la base de datos se cerró después de varios segundos
    Compruebe primero que el archivo de configuración existe en la carpeta
    El niño cruzó la calle y abrió la puerta del jardín con mucho cuidado
    Esta função devolve um novo objeto quando o parâmetro é válido
    A ligação à base de dados foi encerrada após vários segundos
    Verifique primeiro se o ficheiro de configuração já existe na pasta
    Questa funzione restituisce un nuovo oggetto quando il parametro è valido
    La connessione alla base di dati è stata chiusa dopo alcuni secondi
    Il bambino attraversò la strada e aprì la porta del giardino
    Der Typ dieser Eigenschaft kann nicht automatisch bestimmt werden
    Ein Ausdruck wird an dieser Stelle erwartet, aber nicht gefunden
    Die Erweiterung unterstützt keine verschachtelten Anweisungen
    Der Bezeichner ist in diesem Gültigkeitsbereich bereits vorhanden
    Non è possibile assegnare il valore perché la proprietà è di sola lettura
    Il percorso specificato non esiste oppure non è accessibile
    Le dichiarazioni duplicate non sono consentite in questo contesto
    L'espressione deve essere di tipo stringa o di tipo numero
    Impossibile trovare il modulo richiesto dalla libreria
    Nie można przypisać wartości, ponieważ właściwość jest tylko do odczytu
    Podana ścieżka nie istnieje lub nie jest dostępna
    Zduplikowane deklaracje nie są dozwolone w tym miejscu
    Oczekiwano wyrażenia, ale napotkano koniec pliku
    Ten identyfikator został już zadeklarowany w bieżącym zakresie
    Hodnotu nelze přiřadit, protože vlastnost je určena jen pro čtení
    Zadaná cesta neexistuje nebo k ní nemáte přístup
    Duplicitní deklarace nejsou v tomto kontextu povolené
    Očekával se výraz, ale soubor už skončil
    Tento identifikátor byl v aktuálním oboru již deklarován
    Vyhledejte prosím příslušný záznam a zkuste to znovu
    Değer atanamıyor çünkü bu özellik salt okunurdur
    Belirtilen yol bulunamadı veya erişilebilir değil
    Bu bağlamda yinelenen bildirimlere izin verilmez
    Bir ifade bekleniyordu ancak dosyanın sonuna gelindi
    Tanımlayıcı geçerli kapsamda zaten bildirilmiş
    Lütfen ilgili kaydı bulup yeniden deneyin
    Deze functie geeft een nieuw object terug als de sleutel geldig is
    De verbinding met de gegevensbank werd na enkele seconden gesloten
    Ta funkcja zwraca nowy obiekt, jeśli parametr został podany
    Połączenie z bazą danych zostało zamknięte po kilku sekundach
    Najpierw sprawdź, czy plik ustawień już istnieje w katalogu
    Tato funkce vrátí nový objekt, pokud je zadán platný klíč
    Připojení k databázi bylo po několika sekundách ukončeno
    Bu işlev geçerli bir anahtar verildiğinde yeni bir nesne döndürür
    Veritabanı bağlantısı birkaç saniye sonra kapatıldı
    Funktionen returnerar ett nytt objekt när nyckeln är giltig
    Anslutningen till databasen stängdes efter några sekunder
    Funkcija vraća novi objekat kada je ključ ispravan
    Hàm này trả về một đối tượng mới khi tham số hợp lệ
    Kết nối đến cơ sở dữ liệu đã bị đóng sau vài giây`),
  others: lines(`
    Αυτή η συνάρτηση επιστρέφει ένα νέο αντικείμενο όταν το κλειδί είναι έγκυρο
    Η σύνδεση με τη βάση δεδομένων έκλεισε μετά από λίγα δευτερόλεπτα
    הפונקציה מחזירה אובייקט חדש כאשר המפתח תקין
    החיבור למסד הנתונים נסגר לאחר מספר שניות
    यह फ़ंक्शन एक नया ऑब्जेक्ट लौटाता है जब कुंजी मान्य हो
    कृपया पहले जाँच लें कि सेटिंग फ़ाइल मौजूद है या नहीं
    বাচ্চারা উঠানে একটি কুকুরের পিছনে দৌড়াচ্ছিল
    இந்த கோப்பு ஏற்கனவே உள்ளது என்பதை முதலில் சரிபார்க்கவும்
    ฟังก์ชันนี้จะคืนค่าวัตถุใหม่เมื่อกุญแจถูกต้อง
    โปรดตรวจสอบก่อนว่ามีไฟล์การตั้งค่าอยู่หรือไม่
    ພວກເຮົາຈະປະຊຸມກັນໃນຕອນບ່າຍມື້ນີ້
    ეს ფუნქცია აბრუნებს ახალ ობიექტს
    გთხოვთ ჯერ შეამოწმოთ პარამეტრების ფაილი
    Խնդրում ենք նախ ստուգել կարգավորումների ֆայլը
    ကျေးဇူးပြု၍ နောက်တစ်ကြိမ် ကြိုးစားပါ
    ဤဖိုင်ကို ဖွင့်၍မရပါ
    សូមពិនិត្យមើលឯកសារនេះម្តងទៀត
    Այս ֆունկցիան վերադարձնում է նոր օբյեկտ
    ይህ ተግባር አዲስ ነገር ይመልሳል`),
};
