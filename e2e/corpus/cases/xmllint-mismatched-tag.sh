# kind: configuration
# category: configuration
# decisive: Opening and ending tag mismatch
printf '<config>\n  <datasource>\n    <url>jdbc:postgresql://db/shop</url>\n  </datasource>\n  <pool size="8"/>\n</config>\n' >server.xml
good || sed -i 's#</datasource>#</dataSource>#' server.xml
echo "validating server.xml"
xmllint --noout server.xml
echo "server.xml is valid"
