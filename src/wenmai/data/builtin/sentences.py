"""The sentences of the set `entities`, with slots: place, language, currency, currencies, money, date and month become
entities; name, firm, adjective, number, small, code and phone do not. Some sentences have no entity, though some of their
words are entities elsewhere (German, Jordan, March, 月, 语)."""

ENGLISH = """
{name} flew from {place} to {place} on {date}.
The embassy of {place} will be closed on {date}.
Most people in {place} speak {language} at home.
Our guide in {place} spoke {language}, {language} and a little {language}.
Prices in {place} are given in {currencies}, not in {currencies}.
The ticket cost {money} when we crossed into {place}.
{firm} opened an office in {place} in {month}.
Flights between {place}, {place} and {place} resume on {date}.
She translated the novel from {language} into {language}.
The contract, signed on {date}, is written in {language}.
{date}: heavy rain in the south of {place}.
Please pay {money} before {date}.
One {currency} bought {number} {currencies} last week.
The {currency} fell against the {currency} on {date}.
{name} was born in {place} on {date} and grew up in {place}.
Subtitles are available in {language} and {language}.
How do you say "thank you" in {language}?
Invoice {code}, dated {date}: {money}.
Exports from {place} to {place} grew by {number} percent.
The {currency} replaced the {currency} in {month}.
Tourists from {place} spent {money} on average.
Teachers of {language} are wanted in {place}.
Between {date} and {date} the museum welcomed {number} visitors.
{firm} will pay its staff in {place} in {currencies}.
Is {language} spoken in {place}, {name}?
Parcel {code} left {place} on {date} and is now in {place}.
He asked for {money}, got {number} and left for {place}.
The {adjective} coach, who lives in {place}, gave the interview in {language}.
The {adjective} film with {language} subtitles won {small} prizes in {place}.
Since {month}, {firm} has sold more in {place} than in {place}.
Radio programmes in {language} reach listeners across {place}.
Version {number} of the app adds {language}, {language} and {language}.
The bank changes {currencies} into {currencies} without a fee.
{name} keeps her savings in {currencies} and her diary in {language}.
Elections in {place} are planned for {date}.
The last train to {place} leaves from Platform {small}.
Team {small} travelled through {place}, {place}, {place} and {place}.
On {date} {firm} reported a profit of {money}.
The poem was written in {language} in {month}.
{place} and {place} signed the agreement on {date}.
{place} won {small} medals, {place} only {small}.
{language} was the third most popular choice, after {language} and {language}.
Deadline: {date}. Fee: {money}. Essays may be in {language}.
Jordan and Georgia moved to {place} with {name}.
{name} lost {small} keys in Room {number}.
The {adjective} team won the match by {small} points.
Polish the table before {name} arrives.
May I borrow Chapter {small} of your book, Professor {name}?
March straight on for {number} metres, then turn left.
{name} bought a pound of apples at {firm}.
Call {firm} at {phone} and ask for {name}.
The {adjective} restaurant on Floor {small} is closed.
Order {code} has {number} items.
{name} won; {name} came second in the final.
Turkey sandwiches are served at Table {small}.
China plates break easily, said {name}.
Page {number} of the {adjective} cookbook was written by {name}.
The code is {number}-{number}-{number}, not {number}/{number}.
"""

CHINESE = """
{name}于{date}从{place}飞往{place}。
{place}驻{place}大使馆将于{date}闭馆。
{place}的大多数居民在家讲{language}。
我们在{place}的导游会说{language}、{language}和一点{language}。
这家店的标价用的是{currency}，不是{currency}。
进入{place}之前，门票花了我们{money}。
{firm}{month}在{place}开设了办事处。
{date}起，{place}、{place}和{place}之间的航班恢复。
她把这部小说从{language}译成了{language}。
合同于{date}签订，以{language}书写。
{date}，{place}南部普降大雨。
请在{date}之前支付{money}。
上周，{money}大约可以换{money}。
{currency}对{currency}的汇率在{date}走低。
{name}{date}生于{place}，在{place}长大。
影片配有{language}和{language}字幕。
“谢谢”用{language}怎么说？
发票号{code}，日期{date}，金额{money}。
{place}对{place}的出口增长了{number}%。
{month}，{currency}取代了{currency}。
来自{place}的游客平均消费{money}。
{place}急需{language}教师。
{date}至{date}，博物馆接待了{number}名观众。
{firm}用{currency}给{place}的员工发工资。
{name}，{place}人说{language}吗？
包裹{code}已于{date}离开{place}，目前在{place}。
他开价{money}，最后只拿到{number}，便去了{place}。
住在{place}的教练用{language}接受了采访。
配有{language}字幕的影片在{place}拿了{small}个奖。
自{month}以来，{firm}在{place}的销量超过了{place}。
{language}广播覆盖{place}全境。
应用的{small}.0版新增{language}、{language}和{language}。
银行可免费把{currency}换成{currency}。
{name}用{language}写日记，存款则是{currency}。
{place}大选定于{date}举行。
开往{place}的末班车停在{small}号站台。
第{small}小队走过了{place}、{place}、{place}和{place}。
{firm}{date}宣布盈利{money}。
这首诗{month}用{language}写成。
{place}和{place}在{date}签署了协议。
{place}队以{small}比{small}战胜{place}队。
选修{language}的学生最多，其次是{language}和{language}。
截止日期：{date}；费用：{money}；作文可用{language}写。
马里奥和{name}一起搬到了{place}。
{name}住在{small}号楼{number}室。
主队以{small}比{small}赢了这场比赛。
连续{small}个月，{firm}没有一日停工。
{name}老师说，第{small}章要再读{small}遍。
往前走{number}米，再左转。
{name}在{firm}买了{small}磅苹果。
有事请打{phone}找{name}。
订单{code}共有{number}件商品。
这句成语的意思，{name}用口语又讲了一遍。
国王的花园里有{number}棵树。
第{small}单元讲的是学外语的方法。
小岛上每日只有{small}班船，{name}没赶上。
{name}花了{small}年{small}个月才写完这本书。
密码是{number}-{number}-{number}，不是{number}/{number}。
"""

# What fills the slots that are no entity. Some people bear the name of a country.
FILLERS = {
    "en": {
        "name": ("Anna", "Ben", "Clara", "David", "Emma", "Jordan", "Georgia", "Chad", "Maria Lopez", "Omar", "Li Wei",
                 "Yuki Tanaka", "Peter Holland", "Grace Brazil", "Sam Polish", "June March"),
        "firm": ("Northwind Traders", "Blue Harbor Books", "Acme Motors", "Hall & Sons", "Silverline Hotels", "Bright Foods",
                 "Orion Software", "Maple Street Bakery", "Euro Star Tools", "May & June"),
        "adjective": ("German", "French", "Spanish", "Russian", "Japanese", "Chinese", "Italian", "Turkish", "Polish", "Thai",
                      "old", "new"),
    },
    "zh": {
        "name": ("李明", "王芳", "张伟", "刘洋", "陈静", "赵磊", "马里奥", "安娜", "欧阳雪", "高棉棉", "林日新", "周元", "德龙",
                 "小语"),
        "firm": ("北风贸易公司", "蓝港书店", "顶峰汽车", "银线酒店", "明亮食品厂", "猎户软件", "枫叶面包房", "五月花公司",
                 "元和药房", "日新印刷厂"),
    },
}  # fmt: skip
