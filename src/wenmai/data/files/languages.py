"""What files hold in English and in Chinese: names that columns have, and the characters that tell encodings apart."""

import re

# What columns of texts and of labels are often called: such a word in the first row names its column.
HEADERS = frozenset(
    {
        "review",
        "comment",
        "content",
        "body",
        "sentence",
        "title",
        "tweet",
        "message",
        "sentiment",
        "category",
        "class",
        "rating",
        "stars",
        "topic",
        "intent",
        "文本",
        "内容",
        "评论",
        "正文",
        "句子",
        "标题",
        "標題",
        "內容",
        "評論",
        "标签",
        "类别",
        "情感",
        "分类",
        "评分",
        "星级",
        "標籤",
        "類別",
        "分類",
        "評分",
    }
)
# What --columns calls text, label and so on, in Chinese.
CALLED = {
    "文本": "text",
    "内容": "text",
    "標籤": "label",
    "标签": "label",
    "类别": "label",
    "類別": "label",
    "目标": "target",
    "目標": "target",
    "原文": "source",
    "译文": "target",
    "譯文": "target",
    "词元": "tokens",
    "标记": "tags",
    "图像": "image",
    "圖像": "image",
}
# A column whose name holds one of these is a label rather than others with as few values.
LABELS = re.compile(
    "label|class|categor|sentiment|polarity|topic|intent|star|rating|标签|類|类|情感|情緒|评分|評分|星"
)
# The characters that texts hold most of, simplified and traditional: by these GB18030 and Big5 are told apart.
COMMON = frozenset(
    "的一是不了在人有我他这中大来上个国和也子时道说们为要会就出得你好很没都那去能还這個來國時說們為會沒還過對樣點裡，。！？、"
)
