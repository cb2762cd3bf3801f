from wenmai.cli import main

main()
